"""Which versions a project asks for: its files in order of how much they decide, and the environment that is active."""

from __future__ import annotations

import fnmatch
import functools
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from mpslint.core.finding import MpslintError, ReadError
from mpslint.core.folders import names_in, remembered
from mpslint.core.knowledge import platform_data
from mpslint.core.outside import LARGEST_SETTINGS, is_file, read_file, repository_of, tree_around
from mpslint.core.versions import parse_version
from mpslint.target import commands, manifests
from mpslint.target.packages import canonical, is_known
from mpslint.target.requirement import ASSUMED_PYTHON, PYTHON, Requirement, requirements
from mpslint.target.specifier import exact_version

_MOST_INCLUDES = 50
_MOST_YAML = 20
"""YAML files in one folder that may be environments; where there are more, they are settings."""
_FOLDERS = "folders/"
_REPOSITORY = ".git"
_Reader = Callable[[str, str, str], Iterator[Requirement]]
_READERS: Mapping[str, _Reader] = {
    "toml_lock": manifests.toml_lock, "pipfile_lock": manifests.pipfile_lock, "pixi_lock": manifests.pixi_lock,
    "conda_lock": manifests.conda_lock, "pyproject": manifests.pyproject, "pixi": manifests.pixi, "pipfile": manifests.pipfile,
    "conda": manifests.conda, "setup_cfg": manifests.setup_cfg, "setup_py": manifests.setup_py, "cog": manifests.cog,
    "python_version": manifests.python_version, "conda_by_content": manifests.conda_by_content, "commands": commands.commands,
    "versions_in_commands": commands.versions_in_commands,
}  # fmt: skip
_INCLUDE = re.compile(r"\s*(?:(-r|--requirement)|(-c|--constraint))[\s=]\s*[\"']?([^\s\"'#]+)")
_CONTINUED = re.compile(r"\\\r?\n")
_WILD = frozenset("*?[")


def text_of(path: Path) -> str:
    """Return the text of a file of a project. Raises ReadError for what is no file, is too large, or is a link out of the project."""
    return decoded(read_file(path, LARGEST_SETTINGS, tree_around(os.fspath(path.parent))))


def decoded(data: bytes) -> str:
    """Return the text of bytes in any encoding that `pip freeze >` writes: UTF-8 with or without a mark, UTF-16 as PowerShell does."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    if b"\0" in data[:64]:
        return data.decode("utf-16-le" if data[1:2] == b"\0" else "utf-16-be", "replace")
    return data.decode("utf-8-sig", "replace")


@remembered(maxsize=4096)
def project_root(folder: str) -> Path | None:
    """Return the nearest folder, this one or one above it, that looks like the root of a project; None where there is none."""
    names = names_in(folder)
    if (
        not _marks().isdisjoint(names)
        or any(name.startswith("requirements") and name.endswith((".txt", ".in")) for name in names)
        or conda_environments(folder)
    ):
        return Path(folder)
    above = os.path.dirname(folder)
    return project_root(above) if above != folder else None


@functools.lru_cache(maxsize=1)
def _marks() -> frozenset[str]:
    return frozenset(platform_data("pin_files")["marks"])


def pin_file_globs() -> tuple[str, ...]:
    """Return the names of the files that a project's versions are read from, as globs."""
    rows = (row for row in platform_data("pin_files")["files"] if row["as"] != "conda_by_content")
    return tuple(name for row in rows for name in _in_folders(row["names"]))


def _in_folders(globs: Iterable[str]) -> Iterator[str]:
    """Yield globs, those of `folders/` for each of the folders in which projects keep what they install from."""
    for glob in globs:
        if glob.startswith(_FOLDERS):
            yield from (f"{folder}/{glob.removeprefix(_FOLDERS)}" for folder in platform_data("pin_files")["folders"])
        else:
            yield glob


@remembered(maxsize=4096)
def conda_environments(folder: str) -> tuple[str, ...]:
    """Return the names of the YAML files in a folder that are conda environments by their keys; of a folder with many none is read."""
    names = sorted(name for name in names_in(folder) if name.endswith((".yml", ".yaml")))
    return tuple(name for name in names if _is_conda_environment(Path(folder, name))) if len(names) <= _MOST_YAML else ()


def _is_conda_environment(path: Path) -> bool:
    try:
        return manifests.is_conda_environment(text_of(path))
    except (ReadError, OSError):
        return False


@remembered(maxsize=64)
def project_requirements(root: Path) -> tuple[Requirement, ...]:
    """Return what a project's files say of the packages that the knowledge covers, and of Python: what decides most comes first.

    A folder within a repository is a part of the project around it, whose files count after its own. Two files of one name are two ways to
    install, which their sources tell apart.
    """
    files = list(_pin_files(root))
    python = _python_of(root, files)
    found = [one for path, reader in files for one in _read(root, path, reader, python)]
    own = {one.source for one in found}
    outer = (replace(one, source=f"../{one.source}") if one.source in own else one for one in outer_requirements(root))
    return (*found, *outer)


def outer_requirements(root: Path) -> tuple[Requirement, ...]:
    """Return what the files of the project around a folder within a repository say; nothing for the repository's own folder."""
    outer = project_root(str(root.parent)) if _REPOSITORY not in names_in(str(root)) else None
    return project_requirements(outer) if outer is not None and outer != root else ()


def _is_part(root: Path) -> bool:
    return _marks().isdisjoint(names_in(str(root)))


def _pin_files(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files of a project that say versions, with the reader of each, each once, in the order of `pin_files.yaml`."""
    data = platform_data("pin_files")
    elsewhere = re.compile(rf"(?:^|[-_./])(?:{'|'.join(data['elsewhere'])})(?:[-_./\d]|$)", re.IGNORECASE)
    seen: set[str] = set()
    for row in data["files"]:
        for glob in _in_folders(row["names"]):
            folder, _, pattern = glob.rpartition("/")
            names = names_in(str(root / folder)) if not folder or folder in names_in(str(root)) else frozenset[str]()
            for name in sorted(_fitting(names, pattern), key=lambda name: (elsewhere.search(name) is not None, name)):
                relative = f"{folder}/{name}" if folder else name
                if relative not in seen:
                    seen.add(relative)
                    yield root / relative, row["as"]


def _fitting(names: frozenset[str], pattern: str) -> list[str]:
    """Return the names that a pattern fits as it is written, else those that it fits but for capitals."""
    if _WILD.isdisjoint(pattern):  # most patterns are plain names
        return [pattern] if pattern in names else [name for name in names if name.lower() == pattern.lower()]
    return fnmatch.filter(names, pattern) or [name for name in names if fnmatch.fnmatch(name.lower(), pattern.lower())]


def _python_of(root: Path, files: list[tuple[Path, str]]) -> str:
    """Return the Python that a project pins, which its markers are asked about."""
    for path, reader in files:
        if reader in ("python_version", "conda", "pipfile", "pixi"):
            for one in _read(root, path, reader, ASSUMED_PYTHON):
                exact = exact_version(one.spec.removesuffix(".*")) if one.name == PYTHON else None
                if exact is not None:
                    return exact
    return ASSUMED_PYTHON


@remembered(maxsize=256)
def _read(root: Path, path: Path, reader: str, python: str) -> tuple[Requirement, ...]:
    """Return what one file says; nothing of one that is broken, which is its owner's matter: the versions then come from elsewhere."""
    source = path.relative_to(root).as_posix()
    try:
        if reader in ("lines", "constraints", "lock_lines"):
            found = _lines(path, root, python, set(), reader == "constraints")
            return tuple(replace(one, is_locked=reader == "lock_lines") for one in found)
        return tuple(_READERS[reader](text_of(path), source, python))
    except (MpslintError, OSError, ValueError, TypeError, AttributeError, KeyError, IndexError, RuntimeError):  # a link to itself, too
        return ()
    except Exception as error:
        if type(error).__module__ != "configparser":
            raise
        return ()


def _lines(path: Path, root: Path, python: str, seen: set[Path], is_constraint: bool = False) -> Iterator[Requirement]:
    """Yield what a requirements file asks for, through the files that it includes, as long as these lie in the project."""
    if not is_file(path, is_known=True):
        return
    path = path.resolve()
    part = root.parent if _is_part(root) and not _is_part(root.parent) else root
    around = Path(repository_of(os.path.abspath(root)) or part).resolve()
    if path in seen or len(seen) > _MOST_INCLUDES or not path.is_relative_to(around):
        return
    seen.add(path)
    source = os.path.relpath(path, root.resolve()).replace(os.sep, "/")
    for line in _CONTINUED.sub(" ", text_of(path)).splitlines():
        include = _INCLUDE.match(line)
        if include is not None:
            try:
                yield from _lines(path.parent / include.group(3), root, python, seen, is_constraint or bool(include.group(2)))
            except (ReadError, OSError, ValueError):
                continue  # pip says that it is missing
        else:
            for one in requirements([line], source, python):
                yield replace(one, is_constraint=is_constraint)


@remembered(maxsize=1)
def environment_versions() -> Mapping[str, tuple[str, str]]:
    """Return the installed version of each package, and where: the active environment's first, then that of mpslint itself.

    Read from the names of metadata folders; nothing is imported.
    """
    found: dict[str, tuple[str, str]] = {}
    for folder, source in _site_folders():
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for entry in names:
            if entry.endswith(".dist-info"):
                name, _, version = entry.removesuffix(".dist-info").partition("-")
                if is_known(name) and parse_version(version):
                    found.setdefault(canonical(name), (version, source))
    return found


def _site_folders() -> Iterator[tuple[Path, str]]:
    for prefix in filter(None, map(os.environ.get, ("VIRTUAL_ENV", "CONDA_PREFIX"))):
        yield from ((folder, "active environment") for folder in Path(prefix).glob("lib/python3*/site-packages"))
    yield from ((Path(entry), "installed here") for entry in sys.path if entry.endswith(("site-packages", "dist-packages")))
