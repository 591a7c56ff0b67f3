"""`python -I -S enter.py BOUNDS COMMAND...` gives up rights for good, and becomes the command.

BOUNDS is a JSON file (bounds.py). Standard library only: until the rights are given up nothing else is loaded, and nothing from the folder
of the script. Exits with 126 when a bound cannot be set, without starting the command.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import stat
import struct
import sys
from collections.abc import Mapping
from typing import Any

CANNOT = 126
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 1, 22, 38, 2
SIGKILL = 9
CREATE_RULESET, ADD_RULE, RESTRICT_SELF, RULE_PATH_BENEATH = 444, 445, 446, 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_BLOCK, TRUNCATE, IOCTL_DEV = 1 << 6, 1 << 11, 1 << 14, 1 << 15
FILES_UP_TO_ABI = {3: (1 << 15) - 1, 4: (1 << 15) - 1}
"""Kinds of access to files that Landlock knows, by the version of its interface; from 5 on also IOCTL_DEV."""
TCP_FROM_ABI, SCOPES_FROM_ABI = 4, 6
BIND_AND_CONNECT, ABSTRACT_SOCKETS_AND_SIGNALS = 0b11, 0b11
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV


def main(arguments: list[str]) -> None:
    """Set the bounds, and become the command."""
    with open(arguments[0], encoding="utf-8") as stream:
        bounds = json.load(stream)
    try:
        for name, amount in bounds["limits"].items():
            _limit(getattr(resource, name), amount)
        if sys.platform == "linux":
            confine(bounds)
    except OSError as error:
        sys.stderr.write(f"mpslint: the script cannot be confined: {error}\n")
        sys.exit(CANNOT)
    os.execvp(arguments[1], arguments[1:])


def _limit(what: int, amount: int) -> None:
    hard = resource.getrlimit(what)[1]
    allowed = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
    resource.setrlimit(what, (allowed, allowed))


def confine(bounds: Mapping[str, Any]) -> None:
    """Give up what the bounds do not grant. Raises OSError."""
    library = ctypes.CDLL(None, use_errno=True)
    _checked(library.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "PR_SET_PDEATHSIG")
    _checked(library.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS")
    if bounds["landlock"]:
        restrict_files(library, bounds["landlock"], bounds["beside"])
    else:
        compare(bounds["beside"])
    if bounds["filter"]:
        filter_calls(library, bytes.fromhex(bounds["filter"]))


def compare(beside: Mapping[str, list[int]]) -> None:
    """Look whether what was mounted is what was to be. Raises OSError where something has taken its place."""
    for path, identity in beside.items():
        try:
            about = os.lstat(path)
        except OSError:
            continue
        if [about.st_dev, about.st_ino] != identity:
            raise OSError(f"{path} was replaced meanwhile; start verify again")


def restrict_files(library: Any, granted: Mapping[str, Any], beside: Mapping[str, list[int]]) -> None:
    """Grant the named paths and nothing else, no TCP, and no signals to processes outside. Raises OSError."""
    version = granted["abi"]
    handled = FILES_UP_TO_ABI.get(version, (1 << 16) - 1)
    attributes = struct.pack(
        "QQQ",
        handled,
        BIND_AND_CONNECT if version >= TCP_FROM_ABI else 0,
        ABSTRACT_SOCKETS_AND_SIGNALS if version >= SCOPES_FROM_ABI else 0,
    )
    size = 24 if version >= SCOPES_FROM_ABI else 16 if version >= TCP_FROM_ABI else 8
    rules = _checked(library.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(size), 0), "landlock_create_ruleset")
    reading = (EXECUTE | READ_FILE | READ_DIR) & handled
    for access, paths in (
        (reading, granted["readable"]),
        (handled & ~MAKE_CHAR & ~MAKE_BLOCK, granted["writable"]),
        ((READ_FILE | WRITE_FILE | IOCTL_DEV) & handled, granted["devices"]),
    ):
        for path in paths:
            _grant(library, rules, path, access)
    for path, identity in beside.items():
        _grant(library, rules, path, reading, identity)
    _checked(library.syscall(RESTRICT_SELF, rules, 0), "landlock_restrict_self")
    os.close(rules)


def _grant(library: Any, rules: int, path: str, access: int, identity: list[int] | None = None) -> None:
    """Grant access to a file, or to a folder and all below it; a path that is not there, or not what it was, gets no grant."""
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC | (os.O_NOFOLLOW if identity else 0))
    except OSError:
        return
    try:
        about = os.fstat(place)
        if identity and [about.st_dev, about.st_ino] != identity:
            return
        allowed = access if stat.S_ISDIR(about.st_mode) else access & OF_FILES
        rule = struct.pack("=Qi", allowed, place)
        _checked(library.syscall(ADD_RULE, rules, RULE_PATH_BENEATH, rule, 0), f"landlock_add_rule {path}")
    finally:
        os.close(place)


def filter_calls(library: Any, program: bytes) -> None:
    """Filter the system calls from here on, in every process to come. Raises OSError."""
    instructions = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    whole = Program(len(program) // 8, ctypes.cast(instructions, ctypes.c_void_p))
    _checked(library.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(whole), 0, 0), "PR_SET_SECCOMP")


def _checked(result: int, what: str) -> int:
    """Return the result of a call. Raises OSError for -1."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


if __name__ == "__main__":
    main(sys.argv[1:])
