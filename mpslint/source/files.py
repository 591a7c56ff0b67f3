"""Which files a check reads: those that are named, and what lies below the folders that are named."""

from __future__ import annotations

import functools
import glob
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path

from mpslint.core.finding import ReadError, UsageError
from mpslint.core.folders import remembered
from mpslint.core.outside import is_file, leads_out, read_text, tree_around
from mpslint.core.own_folder import TAG as CACHE_TAG
from mpslint.core.own_folder import is_own_tag
from mpslint.core.record import record
from mpslint.source.document import Kind
from mpslint.source.patterns import Patterns
from mpslint.source.reader import kind_of

SKIPPED_FOLDERS = frozenset(
    ".git .hg .svn .venv venv .tox .nox node_modules __pycache__ __pypackages__ .ipynb_checkpoints site-packages build dist .eggs "
    ".mpslint_cache .mypy_cache .ruff_cache .pytest_cache .hypothesis wandb mlruns lightning_logs .cache".split()
)
STANDARD_INPUT = "-"
_GITIGNORE = ".gitignore"
_APPLE_DOUBLE = "._"
"""Begins the name of the file in which macOS keeps what another file system has no place for."""
LARGEST_JSON = 100_000
"""Bytes of a JSON file below a folder that may hold settings."""
MOST_JSON = 100
"""JSON files in one folder that may hold settings; where there are more, they are data."""


@record(frozen=True, slots=True)
class FoundFile:
    """A file to read, or a path that cannot be read and why."""

    path: str
    problem: str = ""
    is_named: bool = True
    """Whether the user named it, rather than a folder that it lies in."""
    top: str = ""
    """The folder that the user named, where it is one that the file lies in: links out of it are not written through."""


def find_files(
    paths: Sequence[str], exclude: Sequence[str] = (), root: Path | None = None, force_exclude: bool = False, respect_gitignore: bool = True
) -> Iterator[FoundFile]:
    """Return the files to check, each once, in order.

    A file or folder that is named is read whatever it is, unless `force_exclude` says that `exclude` counts for it too; below folders only
    files that mpslint knows are, without what .gitignore (with `respect_gitignore`) or `exclude` (patterns as in .gitignore, from `root`)
    names.
    Raises UsageError for a word of `exclude` that is no pattern.
    """
    excluded = _excluded(tuple(exclude))
    base = root or Path.cwd()
    found = itertools.chain.from_iterable(_expand(path, excluded, base, force_exclude, respect_gitignore) for path in paths)
    return each_once(found) if len(paths) > 1 else found


def each_once(files: Iterable[FoundFile]) -> Iterator[FoundFile]:
    """Yield each file as it comes first, however often and however it is written."""
    seen: set[str] = set()
    for found in files:
        path = os.path.abspath(found.path)
        if path not in seen:
            seen.add(path)
            yield found


def _expand(path: str, excluded: Patterns | None, base: Path, force_exclude: bool, respect_gitignore: bool) -> Iterator[FoundFile]:
    if path == STANDARD_INPUT:
        yield FoundFile(path)
    elif os.path.isdir(path):
        if not (force_exclude and _matches(excluded, os.path.join(path, ""), base)):
            yield from _walk(path, excluded, base, respect_gitignore)
    elif os.path.exists(path):
        if not (force_exclude and _matches(excluded, path, base)):
            yield FoundFile(path)
    elif any(character in path for character in "*?["):
        matches = _matching(path)
        if not matches:
            yield FoundFile(path, "no file matches this pattern")
        yield from each_once(found for match in matches for found in _matched(match, excluded, base, respect_gitignore))
    else:
        yield FoundFile(path, _why_not(path))


def _matched(match: str, excluded: Patterns | None, base: Path, respect_gitignore: bool) -> Iterator[FoundFile]:
    if os.path.isdir(match):
        yield from _walk(match, excluded, base, respect_gitignore)
    elif (
        kind_of(match) is not None
        and not _matches(excluded, match, base)
        and not (os.path.islink(match) and leads_out(match, tree_around(os.curdir)))
    ):
        yield FoundFile(match)


_ANYWHERE = re.compile(r"(?:(?<=/)|^)\*\*(?:/|$)")


def _matching(pattern: str) -> list[str]:
    """Return what a pattern matches, in order; `**` follows no link to a folder, which may lead up and around for ever."""
    parts = _ANYWHERE.split(pattern.replace(os.sep, "/"), maxsplit=1)
    if len(parts) == 1:
        return sorted(glob.glob(pattern))
    found: list[str] = []
    for top in sorted(glob.glob(parts[0])) if parts[0] else [""]:
        try:
            below = [path.relative_to(top or ".") for path in Path(top or ".").glob(f"**/{parts[1]}")] if parts[1] else [Path()]
        except ValueError:  # `**` as a part of a name
            continue
        found += [
            os.path.join(top, path) if path.parts else top or os.curdir for path in below if not any(part[0] == "." for part in path.parts)
        ]
    return sorted(found)


@record(frozen=True, slots=True, eq=False)
class _Counted:
    """Patterns, and where the folder that is walked lies, seen from where they count (`src/`)."""

    patterns: Patterns
    below: str

    def answer(self, name: str, mark: str) -> bool | None:
        """Return whether they leave out what lies in the folder under a name, None for not named; the mark of a folder is a slash."""
        return self.patterns.answer(f"{self.below}{name}{mark}")

    def within(self, name: str) -> _Counted:
        """Return the same for a folder in the folder."""
        return _Counted(self.patterns, f"{self.below}{name}/")

    def asked_for(self) -> _Counted:
        """Return the same for a folder that is walked because somebody named it: without what would leave the folder itself out."""
        if not self.below or not self.patterns.leaves_out(self.below):
            return self
        return _Counted(Patterns(line for line in self.patterns.lines if not Patterns([line]).leaves_out(self.below)), self.below)


def _walk(top: str, excluded: Patterns | None, base: Path, respect_gitignore: bool) -> Iterator[FoundFile]:
    """Yield the files below a folder, in order of name; links to folders are not followed."""
    problems: list[FoundFile] = []
    always = None
    if excluded is not None:
        start = os.path.relpath(top, base).replace(os.sep, "/")
        always = _Counted(excluded, "" if start == "." else f"{start}/").asked_for()
    tree = tree_around(top)
    waiting = [("" if top == os.curdir else os.path.join(top, ""), always, _ignores_above(top) if respect_gitignore else [])]
    while waiting:
        prefix, always, ignores = waiting.pop()
        folders: list[str] = []
        files: list[tuple[str, Kind, os.DirEntry[str]]] = []
        is_cache = False
        try:
            with os.scandir(prefix or os.curdir) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.name)
                        if entry.name in (_GITIGNORE, CACHE_TAG):
                            is_file(entry.path, is_known=True)
                    elif (kind := kind_of(entry.name)) is not None and not entry.name.startswith(_APPLE_DOUBLE) and _is_file(entry, tree):
                        files.append((entry.name, kind, entry))
                    elif entry.name == _GITIGNORE and respect_gitignore:
                        ignores = _with_own(ignores, entry.path)
                    elif entry.name == CACHE_TAG:
                        is_cache = is_file(entry.path) and is_own_tag(entry.path)
        except OSError as error:
            problems.append(FoundFile(os.path.normpath(prefix or os.curdir), f"cannot be read: {error.strerror}"))
            continue
        if is_cache:
            continue
        has_data = sum(kind is Kind.JSON for _, kind, _ in files) > MOST_JSON
        for name, kind, entry in sorted(files, key=itemgetter(0)):
            those = ignores if kind is not Kind.ENV else ()  # its owner keeps it from git, and the run has it all the same
            if not _is_left_out(name, "", always, those) and not (kind is Kind.JSON and (has_data or _is_data(entry))):
                yield FoundFile(_below(prefix, name), is_named=False, top=top)
        waiting += [
            (f"{_below(prefix, name)}{os.sep}", always and always.within(name), [one.within(name) for one in ignores])
            for name in sorted(folders, reverse=True)
            if name not in SKIPPED_FOLDERS and not name.endswith(".egg-info") and not name.startswith("checkpoint-")
            if not _is_left_out(name, "/", always, ignores)
        ]
    yield from problems


def _below(prefix: str, name: str) -> str:
    """Return the path of what lies in a folder; one that would look like an option begins with a dot."""
    return f"{prefix}{name}" if prefix or name[0] != "-" else os.path.join(os.curdir, name)


def _is_file(entry: os.DirEntry[str], tree: str) -> bool:
    """Return whether something is a file, or a link to one inside of `tree`: what a stranger's link shows would be shown in a report."""
    try:
        return (entry.is_file() or is_file(entry.path)) and not (entry.is_symlink() and leads_out(entry.path, tree))
    except OSError:  # a link to itself
        return False


def _is_left_out(name: str, mark: str, always: _Counted | None, ignores: Sequence[_Counted]) -> bool:
    """Return whether what is excluded, or else the innermost .gitignore that names it, leaves something out."""
    if always is not None and always.answer(name, mark):
        return True
    return bool(next((answer for one in reversed(ignores) if (answer := one.answer(name, mark)) is not None), False))


def _why_not(path: str) -> str:
    """Return why there is nothing at a path: there is none, or nobody may look."""
    try:
        os.stat(path)
    except PermissionError:
        return "cannot be read: Permission denied"
    except (OSError, ValueError):
        pass
    return "no such file or folder"


def _is_data(entry: os.DirEntry[str]) -> bool:
    """Return whether a JSON file is too large to be a configuration."""
    try:
        return entry.stat().st_size > LARGEST_JSON
    except OSError:
        return True


@functools.lru_cache(maxsize=64)
def _excluded(patterns: tuple[str, ...]) -> Patterns | None:
    """Return what excludes files by these patterns; None for no patterns, which is what most runs have. Raises UsageError."""
    excluded = Patterns(patterns)
    if wrong := excluded.wrong():
        raise UsageError(f"exclude: {wrong!r} is not a .gitignore pattern")
    return excluded if excluded.lines else None


def is_excluded(path: str, exclude: Sequence[str], root: Path) -> bool:
    """Return whether patterns that count from a folder leave out a file. Raises UsageError for a word that is no pattern."""
    return bool(exclude) and _matches(_excluded(tuple(exclude)), path, root)


def _matches(excluded: Patterns | None, path: str, base: Path) -> bool:
    if excluded is None:
        return False
    return excluded.leaves_out(os.path.relpath(path, base).replace(os.sep, "/") + ("/" if path.endswith(os.sep) else ""))


def _with_own(ignores: list[_Counted], path: str) -> list[_Counted]:
    """Return the patterns that count in a folder with those of its own .gitignore, which come last; one that cannot be read has none."""
    try:
        lines = read_text(path, tree=tree_around(os.path.dirname(path)), errors="surrogateescape").replace("\r\n", "\n").split("\n")
    except ReadError:
        return ignores
    own = Patterns(lines)
    return [*ignores, _Counted(own, "")] if own.lines else ignores


def _ignores_above(top: str) -> list[_Counted]:
    """Return the .gitignore files between the root of the repository and a folder inside it, outermost first."""
    resolved = Path(top).resolve()
    chain = [resolved, *resolved.parents]
    root = next((index for index, folder in enumerate(chain) if os.path.exists(folder / ".git")), 0)
    found: list[_Counted] = []
    for folder, inner in zip(reversed(chain[1 : root + 1]), reversed(chain[:root]), strict=True):
        found = [one.within(inner.name) for one in _with_own(found, str(folder / _GITIGNORE))]
    return [one.asked_for() for one in found]


@remembered(maxsize=256)
def is_beside(package: str, path: str, is_package: bool = True) -> bool:
    """Return whether a package of this name lies in the folder of a file, or in one above it up to the repository's: the file's own.

    Unless it must be a package, a module or any folder of the name will do.
    """
    for folder in Path(path).absolute().parents:
        if (folder / package / "__init__.py").is_file():
            return True
        if not is_package and ((folder / package).is_dir() or (folder / f"{package}.py").is_file()):
            return True
        if (folder / ".git").exists():
            return False
    return False
