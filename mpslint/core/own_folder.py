"""Folders that mpslint makes for itself: written to only while they are its own, and emptied only of what it wrote.

A folder is its own when it holds the tag that mpslint writes as it makes one, belongs to this user, and is reached without a link below
the folder that the user named. What somebody else put there, or under the same name, is neither written over nor deleted. The tag of a
temporary folder, which is deleted with all that programs wrote in it, holds for that very folder: a copy of it is the user's.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from mpslint.core.finding import ReadError
from mpslint.core.outside import read_file
from mpslint.core.record import record

TAG = "CACHEDIR.TAG"
_TAG_TEXT = b"Signature: 8a477f597d28d172789f06886806bc55\n# This is a cache of mpslint (`mpslint clean` removes it).\n"
"""The first line is the one by which backups know caches: https://bford.info/cachedir/"""
_TEMPORARY = ".mpslint-"
_TRIES, _PAUSE = 20, 0.01
"""How often, and after how many seconds, a tag that isn't whole is looked at again."""
CONTENTS = "files"
"""The folder in a temporary folder that is deleted whole; what a user puts beside it stays."""


def user_caches() -> Path:
    """Return the folder of this user's caches: the one that MPSLINT_CACHE_DIR names, else the system's. Raises OSError without a home."""
    if given := os.environ.get("MPSLINT_CACHE_DIR"):
        return Path(given)
    named = os.environ.get("XDG_CACHE_HOME", "")
    try:
        return Path(named) if os.path.isabs(named) else Path.home() / ".cache"
    except RuntimeError as error:
        raise OSError(None, str(error)) from None


def kept_name(path: str) -> str:
    """Return how the names of results begin that say what fits of a user's file."""
    import hashlib  # most commands do without

    return f"fits-{hashlib.sha256(os.path.abspath(path).encode('utf-8', 'surrogatepass')).hexdigest()[:16]}-"


@record(frozen=True, slots=True)
class OwnFolder:
    """A folder `parts` below a base that the user chose."""

    base: Path
    parts: tuple[str, ...]
    is_temporary: bool = False
    """Whether it holds `CONTENTS`, files of any name, in place of those that mpslint knows by name."""

    @property
    def path(self) -> Path:
        """Where it lies."""
        return self.base.joinpath(*self.parts)

    def is_ours(self) -> bool:
        """Return whether mpslint made it."""
        try:
            return not self._has_link() and _is_mine(self.path) and is_own_tag(self.path / TAG, self._bond())
        except OSError:
            return False

    def make(self) -> None:
        """Make it, if there is none. Raises OSError where that cannot be, or where something else has its place."""
        self.base.mkdir(parents=True, exist_ok=True)
        for number in range(1, len(self.parts) + 1):
            with contextlib.suppress(FileExistsError):
                os.mkdir(self.base.joinpath(*self.parts[:number]), 0o700)
        for _ in range(_TRIES):
            if self.is_ours():
                return
            if self._has_link() or not os.path.isdir(self.path) or set(os.listdir(self.path)) - {TAG}:
                break
            with contextlib.suppress(FileExistsError):  # another process has begun the tag, and isn't done with it
                handle = os.open(self.path / TAG, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
                with open(handle, "wb") as stream:
                    stream.write(_TAG_TEXT + self._bond())
                return
            time.sleep(_PAUSE)
        if not self.is_ours():
            raise OSError(None, "it exists, and mpslint did not make it", str(self.path))

    def write(self, name: str, data: bytes) -> None:
        """Write a file in it, whole or not at all. Raises OSError."""
        self.make()
        handle, temporary = tempfile.mkstemp(dir=self.path, prefix=_TEMPORARY)
        try:
            with open(handle, "wb") as stream:
                stream.write(data)
            os.replace(temporary, self.path / name)  # takes the place of a link, and does not follow it
        except BaseException:  # Ctrl-C too leaves no temporary file; it goes on
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise

    def delete(self, names: Sequence[str]) -> None:
        """Delete files that were written in it, if it is ours. Raises OSError."""
        for name in names if self.is_ours() else ():
            os.unlink(self.path / name)

    def remove(self, is_written: Callable[[str], bool] = lambda name: False) -> tuple[str, ...] | None:
        """Delete what was written by name, and the folder if nothing else is in it; return what was left, None where it is not ours."""
        if not self.is_ours():
            return None
        if self.is_temporary:
            _delete_tree(self.path / CONTENTS)
        names = os.listdir(self.path)
        ours = [name for name in names if name.startswith(_TEMPORARY) or is_written(name)]
        left = tuple(sorted(set(names) - {TAG, *ours}))
        self.delete([*ours, *([] if left else [TAG])])  # the tag last: without it nothing else could be deleted
        if not left:
            for number in range(len(self.parts), 0, -1):
                with contextlib.suppress(OSError):  # another project's lies beside it
                    os.rmdir(self.base.joinpath(*self.parts[:number]))
        return left

    def _bond(self) -> bytes:
        """Return what the tag of a temporary folder says of it, and would not say of a copy: where it lies, and its number there."""
        if not self.is_temporary:
            return b""
        return b"# Temporary: %b, %d\n" % (os.fsencode(os.path.realpath(self.path)), os.lstat(self.path).st_ino)

    def _has_link(self) -> bool:
        return any(os.path.islink(self.base.joinpath(*self.parts[:number])) for number in range(1, len(self.parts) + 1))


def is_own_tag(path: Path | str, bond: bytes = b"") -> bool:
    """Return whether a file is the tag that mpslint writes."""
    try:
        return read_file(path, 10_000) == _TAG_TEXT + bond
    except ReadError:
        return False


def _delete_tree(path: Path) -> None:
    """Delete a folder as far as that can be, without following a link; a program may have closed its folders to itself."""
    shutil.rmtree(path, ignore_errors=True)
    if os.path.lexists(path):
        for folder, folders, _ in os.walk(path):
            for name in folders:
                if not os.path.islink(inner := os.path.join(folder, name)):
                    with contextlib.suppress(OSError):
                        os.chmod(inner, 0o700)
        shutil.rmtree(path, ignore_errors=True)


def _is_mine(path: Path) -> bool:
    """Return whether something belongs to whoever runs mpslint; on Windows, where that is not asked, it does."""
    return not hasattr(os, "geteuid") or os.lstat(path).st_uid == os.geteuid()
