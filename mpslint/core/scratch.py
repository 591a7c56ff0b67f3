"""Temporary folders that don't stay: removed at the end, and by the next run where mpslint was killed before it could."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mpslint.core.own_folder import CONTENTS, OwnFolder

PREFIX = "mpslint-"


@contextlib.contextmanager
def scratch_folder(purpose: str = "") -> Iterator[str]:
    """Yield a new temporary folder, locked as long as it is in use. What others of this user left behind is removed first.

    Raises OSError where no temporary folder can be made.
    """
    remove_leftovers()
    own = _own(os.path.basename(tempfile.mkdtemp(prefix=f"{PREFIX}{purpose}")))
    with _locked(own.path):
        own.make()  # only now: a tag without a lock marks a leftover
        contents = own.path / CONTENTS
        contents.mkdir()
        try:
            yield str(contents)
        finally:
            with contextlib.suppress(OSError):
                own.remove()


def whole(contents: Path) -> Path:
    """Return the temporary folder of what `scratch_folder` yielded, with its tag: what goes when this process is killed."""
    return contents.parent


def _own(name: str) -> OwnFolder:
    return OwnFolder(Path(os.path.abspath(tempfile.gettempdir())), (name,), is_temporary=True)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Hold the lock of a folder, which ends with this process however that ends; yield whether it could be had."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (AttributeError, OSError):  # Windows
        yield False
        return
    try:
        yield is_locked(handle)
    finally:
        os.close(handle)


def is_locked(handle: int) -> bool:
    """Lock an open file or folder, which ends with this process however that ends; return whether that could be done."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):  # Windows; a network folder
        return False
    return True


def remove_leftovers() -> None:
    """Remove the temporary folders that a killed mpslint left: those with its tag that nobody holds."""
    with contextlib.suppress(OSError):
        for name in os.listdir(tempfile.gettempdir()):
            if name.startswith(PREFIX) and (own := _own(name)).is_ours():
                with _locked(own.path) as is_free, contextlib.suppress(OSError):
                    if is_free:
                        own.remove()
