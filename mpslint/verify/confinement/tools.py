"""The command lines by which each tool of the operating system confines a command."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from mpslint.core.knowledge import platform_data
from mpslint.verify.confinement.room import Room, downloads, python_folders

ROOT_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")


def readable(room: Room) -> list[Path]:
    """Return everything that a command in a room may read, but for what lies beside its script."""
    system = [Path(path) for path in platform_data("confinement")["readable"]["linux"]]
    return [path for path in (*system, *python_folders(), *downloads().values(), *room.readable) if path.exists()]


def bubblewrap(tool: str, room: Room, files: Sequence[Path], folder: Path) -> list[str]:
    """Return the command that gives the command behind it namespaces of its own, and a file system of what the room grants.

    `files` are those of ours that the command must read; it starts in `folder`.
    """
    line = [tool, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"]
    line += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for path in readable(room):
        if str(path) in ROOT_LINKS and path.is_symlink():
            line += ["--symlink", os.readlink(path), str(path)]
        else:
            line += ["--ro-bind", str(path), str(path)]
    for place in room.beside.entries:  # enter.py compares what was mounted with what was to be
        line += ["--ro-bind-try", place, place]
    for link, target in room.beside.links.items():
        if not any(Path(link).is_relative_to(path) for path in readable(room)):  # else it is there
            line += ["--symlink", target, link]
    for path in files:
        line += ["--ro-bind", str(path), str(path)]
    for path in room.devices:
        if path.exists():
            line += ["--dev-bind", str(path), str(path)]
    line += ["--bind", str(room.folder), str(room.folder)]
    line += ["--remount-ro", "/proc"]  # root inside is the machine's root to /proc/sys, where core_pattern names a program to run
    return [*line, "--chdir", str(folder), "--"]


def sandbox_exec(tool: str, room: Room, files: Sequence[Path]) -> list[str]:
    """Return the command that confines the command behind it on macOS."""
    table = platform_data("confinement")["macos"]
    granted = _subpaths([*python_folders(), *downloads().values(), *room.readable, room.folder, *files])
    beside = _filters(room.beside.entries)  # not resolved once more: a link in the place of one would be followed
    filled = {"folder": _subpaths([room.folder]), "private": _subpaths(map(Path, table["private"])), "granted": f"{granted} {beside}"}
    return [tool, "-p", table["profile"].format_map(filled)]


def _subpaths(paths: Iterable[Path]) -> str:
    """Return filters for folders and files, as they resolve: macOS judges by resolved path."""
    return _filters(sorted({str(path.resolve()) for path in paths}))


def _filters(paths: Iterable[str]) -> str:
    escaped = (path.replace("\\", "\\\\").replace('"', '\\"') for path in paths)
    return " ".join(f'(subpath "{path}")' for path in escaped)
