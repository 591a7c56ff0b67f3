"""Files on their way to take another's place: locked while they are in use, and known again by the next run if theirs was killed."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
from collections.abc import Iterator

from mpslint.core.scratch import is_locked

_REFUSES_FSYNC = frozenset([errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP])
"""What a file system says that has no fsync; anything else means that the bytes may not be there."""
_NAME = re.compile(r"\.mpslint-([0-9a-f]{16})-([0-9a-f]{16})")
_EXACT = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


@contextlib.contextmanager
def temporary_file(folder: str, data: bytes) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the path of a new file in a folder, its bytes on the disk, and in words what its file system has no way to do.

    The file is locked until the end, and deleted then unless it was renamed. Raises OSError.
    """
    handle, path = _made(folder)
    try:
        try:
            with open(handle, "wb", closefd=False) as stream:
                stream.write(data)
                stream.flush()
                lost = _flushed(handle)
            if os.name == "nt":  # where an open file can't be renamed
                os.close(handle)
                handle = -1
            yield path, lost
        finally:
            if handle >= 0:
                os.close(handle)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


def remove_leftovers(folder: str) -> None:
    """Delete the temporary files that a killed run left in a folder: those that nobody holds, and whose names prove that mpslint made them.

    A name proves it by a digest of the file's own number: a copy, such as a checkout, has another number, and is left alone.
    """
    with contextlib.suppress(OSError), os.scandir(folder or os.curdir) as entries:
        for entry in entries:
            if (name := _NAME.fullmatch(entry.name)) is not None and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    _remove_left(entry.path, *name.groups())


def _remove_left(path: str, word: str, proof: str) -> None:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _EXACT)
    try:
        about = os.fstat(handle)
        is_ours = proof == _proof(word, about.st_ino) or (about.st_size == 0 and proof == _proof(word, 0))
        if is_ours and is_locked(handle) and os.lstat(path).st_ino == about.st_ino:
            os.unlink(path)
    finally:
        os.close(handle)


def _made(folder: str) -> tuple[int, str]:
    """Return a new empty file, locked, and its path: first under a name that is proven while it is empty, then under that of its number."""
    while True:
        word = secrets.token_hex(8)
        first = os.path.join(folder, f".mpslint-{word}-{_proof(word, 0)}")
        handle = os.open(first, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _EXACT, 0o600)
        try:
            if not is_locked(handle):
                return handle, first
            path = os.path.join(folder, f".mpslint-{word}-{_proof(word, os.fstat(handle).st_ino)}")
            os.rename(first, path)
        except FileNotFoundError:  # another run took it for a leftover before it was locked
            os.close(handle)
        except BaseException:
            os.close(handle)
            with contextlib.suppress(OSError):
                os.unlink(first)
            raise
        else:
            return handle, path


def _proof(word: str, number: int) -> str:
    return hashlib.blake2b(f"{word} {number}".encode(), digest_size=8, person=b"mpslint").hexdigest()


def _flushed(handle: int) -> tuple[str, ...]:
    """Bring a file's bytes to the disk; return in words that its file system has no way to. Raises OSError."""
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _REFUSES_FSYNC:
            raise
        return (f"its file system refuses fsync ({error.strerror}), so a power cut may lose it",)
    return ()
