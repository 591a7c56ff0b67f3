"""Write a changed file back: all of it or nothing of it."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile

from mpslint.finding import ReadError


class WriteError(ReadError):
    """A file could not be written; it is as it was, and the text says why (exit code 3)."""


def write_file(path: str, before: bytes, after: bytes, backup: bool = False) -> str | None:
    """Replace a file's bytes by others, if it still holds `before`; return the path of the backup, if one was asked for.

    The new bytes go to a temporary file in the same folder, which then takes the file's place: nobody ever sees half a file. A symbolic
    link is followed, the mode is kept. Raises WriteError.
    """
    real = os.path.realpath(path)
    try:
        with open(real, "rb") as stream:
            current = stream.read()
        mode = stat.S_IMODE(os.stat(real).st_mode)
    except OSError as error:
        raise WriteError(f"{path}: cannot be read again: {error.strerror}; left as it is") from None
    if current != before:
        raise WriteError(f"{path}: changed while it was being fixed; left as it is, run mpslint fix again")
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(real, os.W_OK):
        raise WriteError(f"{path}: is read-only; left as it is (chmod u+w lets mpslint change it)")
    try:
        kept = _backup(real, current, mode) if backup else None
        _replace(real, after, mode)
    except OSError as error:
        raise WriteError(f"{path}: cannot be written: {error.strerror}; left as it is") from None
    return kept


def write_whole(path: str, data: bytes) -> None:
    """Write a file of our own, such as a report: nobody ever sees half of it. Raises WriteError.

    A symbolic link is followed, and what is no file (`/dev/stderr`, a pipe) is written to as it stands.
    """
    real = os.path.realpath(path)
    try:
        if os.path.exists(real) and not os.path.isfile(real):
            with open(path, "wb") as stream:
                stream.write(data)
            return
        _replace(real, data, stat.S_IMODE(os.stat(real).st_mode) if os.path.exists(real) else 0o666 & ~_umask())
    except OSError as error:
        raise WriteError(f"{path}: cannot be written: {error.strerror}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _backup(real: str, data: bytes, mode: int) -> str:
    kept = real + ".orig"
    _replace(kept, data, mode)
    return kept


def _replace(real: str, data: bytes, mode: int) -> None:
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(real) or ".", prefix=".mpslint-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, real)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
