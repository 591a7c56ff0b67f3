"""The file of the project that an import means, found as Python finds it: by names in folders, without importing anything."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from mpslint.core.folders import absolute, folder_of, names_in, remembered
from mpslint.core.outside import repository_of
from mpslint.core.record import record

DEEPEST = 8
"""Folders above a script that are looked at."""
MARKS = frozenset("pyproject.toml setup.py setup.cfg requirements.txt environment.yml README.md README.rst .gitignore".split())
INSTALLED = frozenset(["pyproject.toml", "setup.py"])
"""The files of a folder that pip installs."""
MOST_INNER = 50
"""Folders in a folder without modules that are looked into."""
SOURCES = ("src", "lib")
"""Folders of a project that hold its packages."""


@record(frozen=True, slots=True)
class Located:
    """A module of the project: its file, '' for a folder without `__init__.py`, and the folder that holds its submodules."""

    file: str
    folder: str


@remembered(maxsize=4096)
def project_folder(folder: str) -> str:
    """Return the outermost folder that a script's imports may come from: the repository's, else the last that looks like one."""
    found, here = "", folder
    for _ in range(DEEPEST):
        names = names_in(here)
        if ".git" in names or ".hg" in names:
            return here
        if not MARKS.isdisjoint(names):
            found = here
        above = os.path.dirname(here)
        if above == here:
            break
        here = above
    working = os.getcwd()
    return found or (working if is_inside(folder, working) else folder)


@remembered(maxsize=4096)
def checkout_of(folder: str) -> str:
    """Return the folder beyond which nothing is read that a file in `folder` names: its repository, else its project or whole package."""
    repository = repository_of(folder)
    if repository is not None:
        return repository
    package = folder
    while "__init__.py" in names_in(package) and os.path.dirname(package) != package:
        package = os.path.dirname(package)
    return min(project_folder(folder), package, key=len)


def checkouts_of(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the folders, none in another and without links, in which the files lie that the runs of some files may read."""
    folders = {os.path.realpath(checkout_of(folder)) for folder in {os.path.dirname(path) for path in paths}}
    outermost: list[str] = []
    for folder in sorted(folders):  # a folder comes before those in it
        if not any(is_inside(folder, one) for one in outermost):
            outermost.append(folder)
    return tuple(outermost)


def is_out_of(checkouts: Iterable[str], path: str) -> bool:
    """Return whether a path leads out of all of some checkouts, by what is written or by a link."""
    real = os.path.realpath(path)
    return not any(is_inside(real, one) for one in checkouts)


def is_inside(path: str, outermost: str) -> bool:
    """Return whether a path lies in a folder, by what is written."""
    return path == outermost or path.startswith(os.path.join(outermost, ""))


def folders_above(folder: str, outermost: str) -> Iterator[str]:
    """Yield a folder and those above it, up to the outermost."""
    here = folder
    for _ in range(DEEPEST + 1):
        yield here
        if here == outermost or os.path.dirname(here) == here:
            return
        here = os.path.dirname(here)


def search_folders(script: str, written: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the folders in which a script's absolute imports are looked for, in order.

    First its own, then those that it puts on `sys.path` (`written`), then the folders above it up to the project's, and `src` in them:
    where scripts of a project are started with `python -m`, or after `pip install -e .`. Last come the projects in these folders.
    """
    own = os.path.normpath(absolute(folder_of(script)))
    outermost = project_folder(own)
    above = list(folders_above(own, outermost))
    added = [os.path.normpath(os.path.join(base, path)) for path in written for base in above if not os.path.isabs(path)]
    inside = [path for path in added if is_inside(path, outermost)]
    inner = [one for folder in above for one in _projects_in(folder)]
    sources = [os.path.join(folder, name) for folder in (*above, *inner) for name in SOURCES if name in names_in(folder)]
    return tuple(dict.fromkeys([own, *inside, *above, *sources, *inner]))


@remembered(maxsize=4096)
def _projects_in(folder: str) -> tuple[str, ...]:
    """Return the folders in a folder that are projects of their own, which are installed by themselves."""
    inner = [os.path.join(folder, name) for name in sorted(names_in(folder)) if "." not in name][:MOST_INNER]
    return tuple(one for one in inner if not INSTALLED.isdisjoint(names_in(one)))


def locate(module: str, folders: Sequence[str], known: frozenset[str] = frozenset()) -> Located | None:
    """Return where an absolute import leads, or None when it is no module of the project.

    A package of a `known` name (`datasets`) is the outside one, unless it lies beside the script itself, which Python looks at first.
    """
    head = module.partition(".")[0]
    places = (_below(folder, module) for folder in (folders[:1] if head in known else folders))
    return next((found for found in places if found is not None), None)


def locate_relative(module: str, level: int, importer: str) -> Located | None:
    """Return where a relative import leads, seen from the file that writes it."""
    own = folder = os.path.normpath(absolute(folder_of(importer)))
    for _ in range(level - 1):
        folder = os.path.dirname(folder)
    if not is_inside(folder, checkout_of(own)):
        return None
    return _below(folder, module) if module else _package(folder)


def submodule(package: Located, name: str) -> Located | None:
    """Return a module in a package, or None."""
    return _below(package.folder, name) if package.folder else None


def _below(folder: str, module: str) -> Located | None:
    """Return a dotted module below a folder: a package comes before a module of the same name, as in Python."""
    here = folder
    *packages, last = module.split(".")
    for name in packages:
        if name not in names_in(here):
            return None
        here = os.path.join(here, name)
    names = names_in(here)
    inner = os.path.join(here, last)
    if last in names and "__init__.py" in names_in(inner):
        return _package(inner)
    if f"{last}.py" in names:
        return Located(os.path.join(here, f"{last}.py"), "")
    if last in names and _holds_python(inner):
        return _package(inner)
    return None


def _package(folder: str) -> Located:
    return Located(os.path.join(folder, "__init__.py") if "__init__.py" in names_in(folder) else "", folder)


def _holds_python(folder: str, deepest: int = 2) -> bool:
    """Return whether a folder holds modules, or packages that do (`src` with nothing but `src/trainers` and `src/data`)."""
    names = names_in(folder)
    if any(name.endswith(".py") for name in names):
        return True
    inner = sorted(filter(str.isidentifier, names))[:MOST_INNER] if deepest else []
    return any(_holds_python(os.path.join(folder, name), deepest - 1) for name in inner)
