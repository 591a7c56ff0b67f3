"""Which files a check reads: those that are named, and what lies below the folders that are named."""

from __future__ import annotations

import functools
import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mpslint.record import record
from mpslint.source.document import Kind
from mpslint.source.reader import kind_of

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SKIPPED_FOLDERS = frozenset(
    ".git .hg .svn .venv venv .tox .nox node_modules __pycache__ __pypackages__ .ipynb_checkpoints site-packages build dist .eggs "
    ".mypy_cache .ruff_cache .pytest_cache .hypothesis wandb mlruns lightning_logs .cache".split()
)
STANDARD_INPUT = "-"
LARGEST_JSON = 100_000
"""Bytes of a JSON file below a folder that may hold settings."""


@record(frozen=True, slots=True)
class Found:
    """A file to read, or a path that cannot be read and why."""

    path: str
    problem: str = ""
    is_named: bool = True
    """Whether the user named it, rather than a folder that it lies in."""


def find_files(paths: Sequence[str], exclude: Sequence[str] = (), root: Path | None = None, force_exclude: bool = False) -> Iterator[Found]:
    """Yield the files to check, each once, in order.

    A file that is named is read whatever it is; below folders only files that mpslint knows are, without what .gitignore or `exclude`
    (patterns as in .gitignore, from `root`) names.
    """
    seen: set[str] = set()
    excluded = _spec(exclude)
    base = root or Path.cwd()
    for path in paths:
        for found in _expand(path, excluded, base, force_exclude):
            key = os.path.normpath(found.path)
            if key not in seen:
                seen.add(key)
                yield found


def _expand(path: str, excluded: GitIgnoreSpec | None, base: Path, force_exclude: bool) -> Iterator[Found]:
    if path == STANDARD_INPUT:
        yield Found(path)
    elif os.path.isdir(path):
        yield from _walk(path, excluded, base)
    elif os.path.exists(path):
        if not (force_exclude and _matches(excluded, path, base)):
            yield Found(path)
    elif any(character in path for character in "*?["):
        matches = sorted(glob.glob(path, recursive=True))
        if not matches:
            yield Found(path, "no file matches this pattern")
        for match in matches:
            if os.path.isdir(match):
                yield from _walk(match, excluded, base)
            elif kind_of(match) is not None and not _matches(excluded, match, base):
                yield Found(match)
    else:
        yield Found(path, _why_not(path))


def _walk(top: str, excluded: GitIgnoreSpec | None, base: Path) -> Iterator[Found]:
    """Yield the files below a folder, in order of name; links to folders are not followed."""
    problems: list[Found] = []

    def note(error: OSError) -> None:
        problems.append(Found(os.path.normpath(str(error.filename)), f"cannot be read: {error.strerror}"))

    ignores = _ignores_above(Path(top))
    resolved = os.path.realpath(top)
    for folder, folders, files in os.walk(top, onerror=note):
        below = folder[len(top) :].lstrip(os.sep + (os.altsep or ""))
        here = Path(resolved, below) if ignores or ".gitignore" in files else Path(folder)
        own = _gitignore(here) if ".gitignore" in files else None
        if own is not None:
            ignores = {**ignores, here: own}
        relevant = [(origin, spec) for origin, spec in ignores.items() if origin == here or here.is_relative_to(origin)]

        def is_left_out(
            name: str, is_folder: bool, folder: str = folder, here: Path = here, relevant: list[tuple[Path, GitIgnoreSpec]] = relevant
        ) -> bool:
            mark = "/" if is_folder else ""
            if _matches(excluded, os.path.join(folder, name) + mark, base):
                return True
            for origin, spec in reversed(relevant):
                answer = spec.check_file((here / name).relative_to(origin).as_posix() + mark).include
                if answer is not None:
                    return answer
            return False

        folders[:] = sorted(
            name
            for name in folders
            if name not in SKIPPED_FOLDERS
            and not name.endswith(".egg-info")
            and not name.startswith("checkpoint-")
            and not is_left_out(name, True)
        )
        for name in sorted(files):
            kind = kind_of(name)
            if kind is None or is_left_out(name, False):
                continue
            path = os.path.join(folder, name)
            if top == os.curdir and not path[2:].startswith("-"):
                path = path[2:]  # without ./
            if os.path.isfile(path) and not (kind is Kind.JSON and _is_data(path)):
                yield Found(path, is_named=False)
    yield from problems


def _why_not(path: str) -> str:
    """Return why there is nothing at a path: there is none, or nobody may look."""
    try:
        os.stat(path)
    except PermissionError:
        return "cannot be read: Permission denied"
    except (OSError, ValueError):
        pass
    return "no such file or folder"


def _is_data(path: str) -> bool:
    """Return whether a JSON file is too large to be a configuration."""
    try:
        return os.path.getsize(path) > LARGEST_JSON
    except OSError:
        return True


def _spec(patterns: Sequence[str]) -> GitIgnoreSpec | None:
    """Return what excludes files by these patterns; None for no patterns, which is what most runs have."""
    if not any(line.strip() and not line.startswith("#") for line in patterns):
        return None
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(patterns)


def is_excluded(path: str, exclude: Sequence[str], root: Path) -> bool:
    """Return whether patterns that count from a folder leave out a file."""
    return bool(exclude) and _matches(_spec(exclude), path, root)


def _matches(spec: GitIgnoreSpec | None, path: str, base: Path) -> bool:
    if spec is None:
        return False
    relative = os.path.relpath(path, base).replace(os.sep, "/") + ("/" if path.endswith("/") else "")
    return bool(spec.match_file(relative))


def _gitignore(folder: Path) -> GitIgnoreSpec | None:
    try:
        lines = (folder / ".gitignore").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    return _spec(lines)


def _ignores_above(top: Path) -> dict[Path, GitIgnoreSpec]:
    """Return the .gitignore files between the root of the repository and a folder inside it, outermost first."""
    resolved = top.resolve()
    chain = [resolved, *resolved.parents]
    root = next((index for index, folder in enumerate(chain) if os.path.exists(folder / ".git")), None)
    found = {}
    for folder in reversed(chain[1 : root + 1] if root is not None else []):
        spec = _gitignore(folder)
        if spec is not None:
            found[folder] = spec
    return found


@functools.lru_cache(maxsize=256)
def is_beside(package: str, path: str) -> bool:
    """Return whether a package of this name lies in the folder of a file, or in one above it up to the repository's: the file's own."""
    for folder in Path(path).absolute().parents:
        if (folder / package / "__init__.py").is_file():
            return True
        if (folder / ".git").exists():
            return False
    return False
