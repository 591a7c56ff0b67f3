"""Write a changed file back: all of it or nothing of it."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import tempfile
from collections.abc import Callable

from mpslint.core.finding import ReadError
from mpslint.core.outside import leads_out, link_out, read_file
from mpslint.core.record import record
from mpslint.source.document import Kind
from mpslint.source.metadata import OwnerLost, keep_metadata
from mpslint.source.reader import kind_of

_REFUSES_FSYNC = frozenset([errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP])
"""What a file system says that has no fsync; anything else means that the bytes may not be there."""
_MOST_BACKUPS = 1_000
_STREAMS = {"stdout": 1, "stderr": 2}
_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|(?:/dev|/proc/self)/fd/(\d{1,6})")
"""How a file that this process has open is named."""


class WriteError(ReadError):
    """A file could not be written; it is as it was, and the text says why (exit code 3)."""


@record(frozen=True, slots=True)
class WrittenFile:
    """A file that was written."""

    backup: str = ""
    """The path of its old text, where that was asked for."""
    lost: tuple[str, ...] = ()
    """What the file system did not take, each in one line: the text is written all the same."""


def write_file(path: str, before: bytes, after: bytes, backup: bool = False, tree: str = "") -> WrittenFile:
    """Replace a file's bytes by others, if it still holds `before`.

    The new bytes go to a temporary file in the same folder, which then takes the file's place: nobody ever sees half a file. A symbolic
    link is followed inside of `tree`, the folder that the user named (by default the repository or folder around the link); owner, mode,
    extended attributes and access lists are kept. Raises WriteError.
    """
    real = os.path.realpath(path)
    out = link_out(tree or path) or ((path, tree) if tree and leads_out(path, tree) else None)
    if out is not None:
        raise WriteError(f"{_led_out(path, *out)}; left as it is (name {real} to change it)")
    about = _unchanged(path, real, before)
    if not about.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(real, os.W_OK):
        raise WriteError(f"{path}: is read-only; left as it is (chmod u+w lets mpslint change it)")
    if about.st_nlink > 1:
        raise WriteError(f"{path}: has {about.st_nlink} hard links, which a rewrite would part; left as it is")
    try:
        kept = _backup(real, before, about) if backup else ""
        return WrittenFile(kept, _replace(real, after, about, lambda: _unchanged(path, real, before)))
    except OSError as error:
        raise WriteError(f"{path}: cannot be written: {error.strerror}; left as it is") from None


def _unchanged(path: str, real: str, before: bytes) -> os.stat_result:
    """Return what the file is, if it still holds what it held. Raises WriteError."""
    try:
        about = os.stat(real)
        current = read_file(real)
    except (OSError, ReadError) as error:
        raise WriteError(f"{path}: cannot be read again: {getattr(error, 'strerror', None) or error}; left as it is") from None
    if current != before:
        raise WriteError(f"{path}: changed while it was being fixed; left as it is, run mpslint fix again")
    return about


def write_whole(path: str, data: bytes) -> None:
    """Write a file of our own, such as a report: nobody ever sees half of it. Raises WriteError.

    A script, a notebook and the like stay: who types `--write-baseline train.py` left out the name of the baseline.

    A symbolic link is followed where it stays in the repository or folder around it: a stranger may have committed `report.json` as a
    link to `~/.bashrc`. What is no file (`/dev/stderr`, a pipe, what a shell gives for `>(command)`) is written to as it stands.
    """
    opened = _DESCRIPTOR.fullmatch(os.path.abspath(path))
    if opened is not None:
        _write_to(path, _STREAMS.get(opened[1]) or int(opened[2]), data)
        return
    real = os.path.realpath(path)
    out = link_out(path) if os.path.dirname(os.path.abspath(path)) != "/dev" else None  # a device is a link on some systems
    if out is not None:
        raise WriteError(f"{_led_out(path, *out)}; not written (name {real} to write there)")
    try:
        if not os.path.exists(real):
            _replace(real, data, None)
            return
        if os.path.isfile(real):
            if kind_of(real) not in (None, Kind.JSON) and os.path.getsize(real):
                raise WriteError(f"{path}: a file that mpslint checks, so not written over; name another for what it writes")
            with contextlib.suppress(OwnerLost):
                _replace(real, data, os.stat(real))
                return
        with open(path, "wb") as stream:
            stream.write(data)
    except OSError as error:
        raise WriteError(f"{path}: cannot be written: {error.strerror}") from None


def _write_to(path: str, descriptor: int, data: bytes) -> None:
    """Write behind what an open file already got: opened by its name, a file would be cut off, and a socket refuses."""
    try:
        with open(os.dup(descriptor), "wb") as stream:
            stream.write(data)
    except OSError as error:
        raise WriteError(f"{path}: cannot be written: {error.strerror}") from None


def _led_out(path: str, link: str, tree: str) -> str:
    """Return in words which link of a path leads out of which folder."""
    leads = f"a link to {os.path.realpath(link)}, outside of {tree}"
    return f"{path}: {leads}" if os.path.abspath(path) == os.path.abspath(link) else f"{path}: {link} is {leads}"


def _backup(real: str, data: bytes, about: os.stat_result) -> str:
    """Keep a file's old text beside it, under a name that nothing has yet: what is kept already is older, and worth more."""
    for number in range(_MOST_BACKUPS):
        kept = f"{real}.orig{number or ''}"
        try:
            handle = os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), stat.S_IMODE(about.st_mode))
        except FileExistsError:
            continue
        with open(handle, "wb") as stream:
            stream.write(data)
        keep_metadata(real, kept, about)
        return kept
    raise OSError(errno.EEXIST, f"{_MOST_BACKUPS} backups of it exist")


def _replace(real: str, data: bytes, about: os.stat_result | None, is_unchanged: Callable[[], object] = object) -> tuple[str, ...]:
    """Put data in the place of a file; return what could not be kept of it. `is_unchanged` is called last, and may raise."""
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(real) or ".", prefix=".mpslint-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            lost = _flushed(stream.fileno())
        if about is None:
            os.chmod(temporary, 0o666 & ~_umask())
        else:
            lost += keep_metadata(real, temporary, about)
        is_unchanged()
        os.replace(temporary, real)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return lost


def _flushed(handle: int) -> tuple[str, ...]:
    """Bring a file's bytes to the disk; return in words that its file system has no way to. Raises OSError."""
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _REFUSES_FSYNC:
            raise
        return (f"its file system refuses fsync ({error.strerror}), so a power cut may lose it",)
    return ()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
