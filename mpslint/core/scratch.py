"""Temporary folders that don't stay: removed at the end, and by the next run where mpslint was killed before it could."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator

PREFIX = "mpslint-"
YOUNGEST = 60.0
"""Seconds before a folder without an owner is taken for a leftover: its owner may be about to lock it."""


@contextlib.contextmanager
def scratch_folder(purpose: str = "") -> Iterator[str]:
    """Yield a new temporary folder, locked as long as it is in use. What others of this user left behind is removed first."""
    remove_leftovers()
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{purpose}", ignore_cleanup_errors=True) as folder, _locked(folder):
        yield folder


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[bool]:
    """Hold the lock of a folder, which ends with this process however that ends; yield whether it could be had."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (ImportError, OSError):  # Windows
        yield False
        return
    is_free = False
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_free = True
        yield is_free
    finally:
        os.close(handle)


def remove_leftovers() -> None:
    """Remove the folders of this user that a killed mpslint left: made here, by nobody held, and not of this minute.

    The folder of temporary files is everyone's, so links and the folders of others are left alone.
    """
    if not hasattr(os, "O_DIRECTORY"):
        return
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and _is_left(entry):
                with _locked(entry.path) as is_free:
                    if is_free:
                        shutil.rmtree(entry.path, ignore_errors=True)


def _is_left(entry: os.DirEntry[str]) -> bool:
    try:
        about = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid() and time.time() - about.st_mtime > YOUNGEST
