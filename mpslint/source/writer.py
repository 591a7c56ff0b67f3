"""Write a changed file back, all of it or nothing of it, with what it has beside its bytes: owner, mode, attributes and access lists."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys
from collections.abc import Sequence

from mpslint.core.finding import ReadError
from mpslint.core.outside import leads_out, link_out, read_file
from mpslint.core.record import record
from mpslint.source.document import Kind
from mpslint.source.notebook_format import new_flaw
from mpslint.source.reader import is_text_notebook, kind_of
from mpslint.source.temporary import remove_leftovers, temporary_file

_MOST_BACKUPS = 1_000
_STREAMS = {"stdout": 1, "stderr": 2}
_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|(?:/dev|/proc/self)/fd/(\d{1,6})")
"""How a file that this process has open is named."""
_NOT_OURS_TO_COPY = frozenset([errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENODATA, errno.EINVAL])
_OF_THE_SYSTEM = ("security.", "trusted.")
"""Extended attributes that the system gives a new file itself."""


class WriteError(ReadError):
    """A file could not be written; it is as it was, and the text says why (exit code 3)."""


@record(frozen=True, slots=True)
class FileChange:
    """A file whose bytes become others, if it still holds `before`."""

    path: str
    before: bytes
    after: bytes
    tree: str = ""
    """The folder that the user named; by default links are held to the repository or folder around them."""


@record(frozen=True, slots=True)
class _Staged:
    """A change that only needs to be put in its place."""

    change: FileChange
    real: str
    new: str
    """The temporary file with the new bytes."""
    old: str
    """One with the old bytes, where they may be wanted."""
    lost: tuple[str, ...]


def write_files(changes: Sequence[FileChange], backup: bool = False) -> list[tuple[str, ...]]:
    """Change files: all of them or none. Return what the file system did not take of each, a line each: its text is written all the same.

    The new bytes go to temporary files in the same folders, which then take the files' places: nobody ever sees half a file. A symbolic
    link is followed where it stays in its tree; owner, mode, extended attributes and access lists are kept. Raises WriteError.
    """
    done: list[tuple[_Staged, str]] = []
    with contextlib.ExitStack() as stack:
        try:
            staged = [_staged(change, backup, backup or len(changes) > 1, stack) for change in changes]
            for one in staged:
                done.append((one, _put(one, backup)))
        except BaseException as error:
            undone = [one.change.path for one, kept in reversed(done) if not _is_undone(one, kept)]
            if not isinstance(error, WriteError) or len(changes) == 1:
                raise
            others = f", and so are the other files of its runs ({len(changes) - 1})"
            raise WriteError(f"{error}{others if not undone else f', but {undone[0]} is changed'}") from None
    return [one.lost for one, _ in done]


def _staged(change: FileChange, backup: bool, keeps_old: bool, stack: contextlib.ExitStack) -> _Staged:
    """Write the new bytes of a file beside it, and the old ones where they may be wanted. Raises WriteError."""
    path, real = change.path, os.path.realpath(change.path)
    out = link_out(change.tree or path) or ((path, change.tree) if change.tree and leads_out(path, change.tree) else None)
    if out is not None:
        raise WriteError(f"{_led_out(path, *out)}; left as it is (name {real} to change it)")
    about = _unchanged(path, real, change.before)
    if not about.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(real, os.W_OK):
        raise WriteError(f"{path}: is read-only; left as it is (chmod u+w lets mpslint change it)")
    if about.st_nlink > 1:
        raise WriteError(f"{path}: has {about.st_nlink} hard links, which a rewrite would part; left as it is")
    _still_a_notebook(change)
    try:
        new, lost = _beside(real, change.after, about, stack)
        old = _beside(real, change.before, about, stack)[0] if keeps_old else ""
    except OSError as error:
        raise WriteError(f"{path}: cannot be written: {error.strerror}; left as it is") from None
    return _Staged(change, real, new, old, lost)


def _still_a_notebook(change: FileChange) -> None:
    """Raise WriteError where a notebook becomes invalid, by nbformat's own judgement, that was not so before."""
    if kind_of(change.path) is not Kind.NOTEBOOK or is_text_notebook(change.path, change.before):
        return
    try:
        flaw = new_flaw(change.before, change.after)
    except ImportError:
        raise WriteError(f"{change.path}: not written: nbformat, which validates it, isn't installed; pip install nbformat") from None
    if flaw:
        raise WriteError(f"{change.path}: the rewrite isn't a valid notebook: {flaw}; left as it is")


def _beside(real: str, data: bytes, about: os.stat_result, stack: contextlib.ExitStack) -> tuple[str, tuple[str, ...]]:
    """Return a temporary file that could take a file's place, and in words what could not be kept of it. Raises OSError."""
    path, lost = stack.enter_context(temporary_file(os.path.dirname(real), data))
    return path, lost + keep_metadata(real, path, about)


def _put(one: _Staged, backup: bool) -> str:
    """Put a change in its place; return where the old bytes are then. Raises WriteError."""
    _unchanged(one.change.path, one.real, one.change.before)
    kept = one.old
    try:
        kept = _backup(one) if backup else one.old
        os.replace(one.new, one.real)
    except BaseException as error:
        if kept != one.old:
            with contextlib.suppress(OSError):
                os.unlink(kept)
        if not isinstance(error, OSError):
            raise
        raise WriteError(f"{one.change.path}: cannot be written: {error.strerror}; left as it is") from None
    return kept


def _is_undone(one: _Staged, kept: str) -> bool:
    """Put the old bytes back in their place; return whether that could be done."""
    try:
        _unchanged(one.change.path, one.real, one.change.after)
        os.replace(kept, one.real)
    except (OSError, WriteError):
        return False
    return True


def _backup(one: _Staged) -> str:
    """Keep a file's old text beside it, under a name that nothing has yet: what is kept already is older, and worth more."""
    for number in range(_MOST_BACKUPS):
        kept = f"{one.real}.orig{number or ''}"
        try:
            os.link(one.old, kept)
        except FileExistsError:
            continue
        except OSError:  # a file system without hard links
            if not _is_free(kept):
                continue
            os.rename(one.old, kept)
        return kept
    raise OSError(errno.EEXIST, f"{_MOST_BACKUPS} backups of it exist")


def _is_free(path: str) -> bool:
    """Return whether nothing has a name. Raises OSError where that can't be told."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return True
    return False


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
    real = os.path.realpath(path)
    if opened is None:
        remove_leftovers(os.path.dirname(real))
        out = link_out(path) if os.path.dirname(os.path.abspath(path)) != "/dev" else None  # a device is a link on some systems
        if out is not None:
            raise WriteError(f"{_led_out(path, *out)}; not written (name {real} to write there)")
    try:
        if opened is not None:  # behind what it already got: opened by its name, a file would be cut off, and a socket refuses
            with open(os.dup(_STREAMS.get(opened[1]) or int(opened[2])), "wb") as stream:
                stream.write(data)
            return
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


def _led_out(path: str, link: str, tree: str) -> str:
    """Return in words which link of a path leads out of which folder."""
    leads = f"a link to {os.path.realpath(link)}, outside of {tree}"
    return f"{path}: {leads}" if os.path.abspath(path) == os.path.abspath(link) else f"{path}: {link} is {leads}"


def _replace(real: str, data: bytes, about: os.stat_result | None) -> None:
    """Put data in the place of a file, or where there is none yet. Raises OSError."""
    with temporary_file(os.path.dirname(real), data) as (temporary, _):
        if about is None:
            os.chmod(temporary, 0o666 & ~_umask())
        else:
            keep_metadata(real, temporary, about)
        os.replace(temporary, real)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


class OwnerLost(OSError):
    """The new file would belong to somebody else."""


def keep_metadata(source: str, target: str, about: os.stat_result) -> tuple[str, ...]:
    """Give `target` what `source` (of which `about` is known) has; return in words what the file system does not take.

    Raises OwnerLost where the owner cannot be kept.
    """
    lost = []
    made, mode = os.stat(target), stat.S_IMODE(about.st_mode)
    if (made.st_uid, made.st_gid) != (about.st_uid, about.st_gid):
        try:
            os.chown(target, about.st_uid, about.st_gid)
        except OSError as error:
            if made.st_uid != about.st_uid:
                raise OwnerLost(error.errno, f"only its owner can rewrite it without taking it over (user {about.st_uid})") from None
            lost.append(f"its group {about.st_gid} could not be kept ({error.strerror})")
            mode &= ~0o2070 | (mode & 0o007) << 3  # another group gets no more than everybody
    if stat.S_IMODE(os.stat(target).st_mode) != mode:
        try:
            os.chmod(target, mode)
        except OSError as error:
            lost.append(f"its mode {mode:o} could not be kept ({error.strerror})")
    return (*lost, *_keep_attributes(source, target))


if sys.platform == "darwin":

    def _keep_attributes(source: str, target: str) -> tuple[str, ...]:
        import ctypes

        access_lists, extended_attributes = 1, 4  # COPYFILE_ACL, COPYFILE_XATTR of copyfile(3)
        system = ctypes.CDLL(None, use_errno=True)
        if system.copyfile(os.fsencode(source), os.fsencode(target), None, access_lists | extended_attributes) < 0:
            return (f"its extended attributes could not be kept ({os.strerror(ctypes.get_errno())})",)
        return ()

else:

    def _keep_attributes(source: str, target: str) -> tuple[str, ...]:
        lost = []
        try:
            names = os.listxattr(source)
        except (AttributeError, OSError):  # Windows has none
            return ()
        for name in names:
            try:
                os.setxattr(target, name, os.getxattr(source, name))
            except OSError as error:
                if error.errno not in _NOT_OURS_TO_COPY and not name.startswith(_OF_THE_SYSTEM):
                    lost.append(f"its extended attribute {name} could not be kept ({error.strerror})")
        return tuple(lost)
