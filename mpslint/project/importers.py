"""The sources of the project around some files: where those lie that import them, or start them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from mpslint.core.folders import absolute, folder_of, names_in, remembered
from mpslint.project.resolve import folders_above, project_folder
from mpslint.source.files import SKIPPED_FOLDERS

ENDINGS = (".py", ".ipynb", ".sh")
MOST_NAMES = 20_000
"""Names in the folders of a project that are looked at; importers in what lies beyond are not known."""


def sources_around(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the scripts, notebooks and shell scripts of the projects that some files (by their absolute paths) lie in."""
    tops = dict.fromkeys(project_folder(os.path.normpath(absolute(folder_of(path)))) for path in paths)
    return tuple(dict.fromkeys(source for top in tops for source in _sources_in(top)))


def launchers_of(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the shell scripts beside some files, and in the folders of the project above them."""
    folders = dict.fromkeys(os.path.dirname(path) for path in paths)
    above = dict.fromkeys(one for folder in folders for one in folders_above(folder, project_folder(folder)))
    return tuple(os.path.join(folder, name) for folder in above for name in sorted(names_in(folder)) if name.endswith(".sh"))


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
            elif entry.name.endswith(ENDINGS) and entry.is_file(follow_symlinks=False):
                yield entry.path
