"""What a file has beside its bytes, for the one that takes its place: owner, mode, extended attributes and access lists."""

from __future__ import annotations

import errno
import os
import stat
import sys

_NOT_OURS_TO_COPY = frozenset([errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENODATA, errno.EINVAL])
_OF_THE_SYSTEM = ("security.", "trusted.")
"""Extended attributes that the system gives a new file itself."""


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
