"""The sources of the project around some files: where those lie that import them, or start them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from mpslint.config.groups import DEBUGGER_FILE
from mpslint.core.folders import absolute, folder_of, names_in, remembered
from mpslint.core.outside import is_file
from mpslint.project.launch import is_launcher
from mpslint.project.resolve import folders_above, project_folder
from mpslint.source.files import SKIPPED_FOLDERS
from mpslint.source.reader import kind_of

ENDINGS = (".py", ".ipynb", ".sh")
DEBUGGER = os.path.join(".vscode", DEBUGGER_FILE)
MOST_NOTEBOOKS = 20
"""Notebooks of a folder that are looked into; a folder with more of them is a collection, in which few start scripts."""
MOST_NAMES = 20_000
"""Names in the folders of a project that are looked at; importers in what lies beyond are not known."""


def sources_around(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the scripts, notebooks and shell scripts of the projects that some files (by their absolute paths) lie in."""
    tops = dict.fromkeys(project_folder(os.path.normpath(absolute(folder_of(path)))) for path in paths)
    return tuple(dict.fromkeys(source for top in tops for source in _sources_in(top)))


def launchers_of(paths: Sequence[str]) -> tuple[str, ...]:
    """Return what may start some files: shell scripts, Makefiles and the like beside them, and in the folders of the project above them.

    Of notebooks those of a folder with few: where there are many, they are a collection, in which few start scripts.
    """
    folders = dict.fromkeys(os.path.dirname(path) for path in paths)
    above = dict.fromkeys(one for folder in folders for one in folders_above(folder, project_folder(folder)))
    return tuple(os.path.join(folder, name) for folder in above for name in _launchers_in(folder))


@remembered(maxsize=1024)
def notebooks_in(folder: str) -> tuple[str, ...]:
    """Return the names of the notebooks in a folder, none where there are many."""
    names = sorted(name for name in names_in(folder) if name.endswith(".ipynb"))
    return tuple(names) if len(names) <= MOST_NOTEBOOKS else ()


def _launchers_in(folder: str) -> Iterator[str]:
    for name in sorted(names_in(folder)):
        if not name.endswith((".json", ".yaml", ".yml")) and is_launcher(name, kind_of(name)):
            yield name
    yield from notebooks_in(folder)
    if os.path.dirname(DEBUGGER) in names_in(folder) and is_file(os.path.join(folder, DEBUGGER)):
        yield DEBUGGER


@remembered(maxsize=64)
def _sources_in(top: str) -> tuple[str, ...]:
    return tuple(_walked(top))


def _walked(top: str) -> Iterator[str]:
    """Yield the sources below a folder, those nearest to it first; links are not followed."""
    left = MOST_NAMES
    waiting = [top]
    for folder in waiting:
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        left -= len(found)
        if left < 0:
            return
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                if not (entry.name.startswith(".") or entry.name in SKIPPED_FOLDERS or entry.name.endswith(".egg-info")):
                    waiting.append(entry.path)
            elif entry.name.endswith(ENDINGS) and not entry.is_symlink() and (entry.is_file() or is_file(entry.path)):
                yield entry.path
