"""Files that somebody else wrote: the one way in which mpslint reads them.

A repository may name `/dev/zero`, a pipe that nobody writes to or a file of 50 GB `requirements.txt`, and may link to anything on the
machine. So only regular files of bounded size are read, and links that a repository holds count only while they stay inside of it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from io import FileIO
from pathlib import Path, PurePath
from typing import Any

from mpslint.core.finding import ReadError
from mpslint.core.notices import notice

LARGEST_FILE = 100_000_000
"""Bytes of a file that is checked; a larger one is not read."""
LARGEST_SETTINGS = 20_000_000
"""Bytes of a file that is read for its settings: pins, configuration, ignored files."""
_WITHOUT_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def read_file(path: str | Path, most: int = LARGEST_FILE, tree: str | None = None) -> bytes:
    """Return the bytes of a regular file of at most `most` bytes, reached without a link that leaves `tree` where one is given.

    Never waits, whatever lies at the path. Raises ReadError with the one line to show.
    """
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):  # before it is opened: opening a device may do something
            _note(path, mode)
            raise ReadError(f"{path}: not a regular file; what comes from a pipe is read as standard input (-)")
        if tree is not None and leads_out(path, tree):
            raise ReadError(f"{path}: a link out of {tree}, so not read")
        with open(os.open(path, os.O_RDONLY | _WITHOUT_WAITING), "rb", buffering=0) as stream:
            about = os.fstat(stream.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise ReadError(f"{path}: not a regular file")
            data = _read(stream, about.st_size, most)
    except (OSError, ValueError) as error:
        raise ReadError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if data is None:
        raise ReadError(f"{path}: larger than {most // 1_000_000} MB, so not read")
    return data


def is_file(path: str | Path, is_known: bool = False) -> bool:
    """Return whether a regular file lies at a path; a pipe, device or socket there is noted, and a folder by a name known for a file."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    if not stat.S_ISREG(mode) and (is_known or not stat.S_ISDIR(mode)):
        _note(path, mode)
    return stat.S_ISREG(mode)


def _note(path: str | Path, mode: int) -> None:
    kind = "pipe" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "folder" if stat.S_ISDIR(mode) else "device"
    absolute = os.path.abspath(path)
    shown = os.path.relpath(path) if absolute.startswith(os.path.join(os.getcwd(), "")) else absolute
    notice(absolute, f"{shown}: a {kind}, not a file, so passed over")


def _read(stream: FileIO, size: int, most: int) -> bytes | None:
    """Return what a stream holds; None when that is too much. A file of /proc has no size, so what comes is counted too."""
    if size > most:
        return None
    pieces, left = [], most
    while piece := stream.read(max(size + 1, 1 << 16)):
        pieces.append(piece)
        left -= len(piece)
        if left < 0:
            return None
    return b"".join(pieces) if len(pieces) != 1 else pieces[0]


def read_text(path: str | Path, most: int = LARGEST_SETTINGS, tree: str | None = None, errors: str = "strict") -> str:
    """Return the text of such a file, UTF-8 with or without a mark. Raises ReadError."""
    try:
        return read_file(path, most, tree).decode("utf-8-sig", errors)
    except UnicodeDecodeError as error:
        raise ReadError(f"{path}: not valid UTF-8 (byte {error.start})") from None


def parse_json(text: str | bytes) -> Any:
    """Return what a JSON text holds. Raises ValueError, also for one that nests too deeply to be read."""
    import json

    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it nests too deeply") from None


def leads_out(path: str | Path, tree: str) -> bool:
    """Return whether a path, once its links are followed, lies outside a folder."""
    inner, outer = os.path.realpath(path), os.path.realpath(tree)
    return inner != outer and not inner.startswith(os.path.join(outer, ""))


def link_out(path: str) -> tuple[str, str] | None:
    """Return the first link in a path that leads out of the repository or folder it lies in, and that folder; None where none does.

    How the current folder was reached doesn't count, nor does a link in a folder that this user can't write to: `/home/me` of a cluster
    is a link of the system's, which no repository brought along.
    """
    found, here = None, os.path.realpath(os.curdir)
    anchor = PurePath(path).anchor
    at = anchor or here
    for part in PurePath(path).parts[bool(anchor) :]:
        below = os.path.join(at, part)
        if found is None and os.path.islink(below) and os.access(at, os.W_OK) and leads_out(below, tree := tree_around(at)):
            found = below, tree
        at = os.path.realpath(below)
        if at == here:
            found = None
    return found


def open_beneath(folder: int, parts: Sequence[str]) -> int:
    """Return a descriptor of a folder below an open one, reached without a link whatever changes meanwhile. Raises OSError. POSIX only."""
    handle = os.dup(folder)
    for part in parts:
        try:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=handle)
        finally:
            os.close(handle)
        handle = inner
    return handle


def repository_of(folder: str) -> str | None:
    """Return the nearest folder, this one or one above it, that holds `.git`; None where there is none."""
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder


def tree_around(folder: str) -> str:
    """Return the folder that links below `folder` may not leave: the repository around it, or itself."""
    absolute = os.path.abspath(folder)
    return repository_of(absolute) or absolute
