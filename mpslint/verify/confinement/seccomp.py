"""A filter of system calls, as the program for the kernel's packet filter that prctl(PR_SET_SECCOMP) takes."""

from __future__ import annotations

import errno
import platform
import struct
import sys
from collections.abc import Iterator, Mapping

from mpslint.core.knowledge import platform_data

ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Column of the table of numbers, and the kernel's name, of each architecture that the table knows."""
X32 = 0x40000000
"""Numbers from here on are another way to call the same on x86_64."""
LOAD, AND, EQUALS, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
ALLOW, FAIL, KILL = 0x7FFF0000, 0x00050000, 0x80000000
AF_UNIX, SOCK_DGRAM, SOCK_TYPE = 1, 2, 0xF
NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""
TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX, which type into a terminal."""

Instruction = tuple[int, int, int, int]


def is_known() -> bool:
    """Return whether the numbers of this machine's system calls are known."""
    return sys.platform == "linux" and sys.maxsize > 2**32 and platform.machine() in ARCHITECTURES


def program(*, guards_files: bool, holds_signals: bool) -> bytes:
    """Return the filter for this machine.

    `guards_files`: calls that change a file without opening it (chmod, utime) have no effect. `holds_signals`: no signals are sent at all.
    """
    column, name = ARCHITECTURES[platform.machine()]
    table = platform_data("confinement")["system_calls"]
    numbers: dict[str, Mapping[str, int]] = {
        group: {call: both[column] for call, both in calls.items() if both[column] is not None} for group, calls in table.items()
    }
    lines = [(LOAD, 0, 0, ARCHITECTURE), (EQUALS, 1, 0, name), (RETURN, 0, 0, KILL), (LOAD, 0, 0, NUMBER)]
    lines += [(AT_LEAST, 0, 1, X32), (RETURN, 0, 0, KILL)] if platform.machine() == "x86_64" else []
    lines += _always(numbers["refused"], errno.EPERM)
    lines += _always(numbers["missing"], errno.ENOSYS)
    if guards_files:
        lines += _always(numbers["ignored"], 0)
    if holds_signals:
        lines += _always(numbers["signals"], errno.EPERM)
    lines += _judged(numbers["judged"])
    lines.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("HBBI", *line) for line in lines)


def _always(calls: Mapping[str, int], error: int) -> Iterator[Instruction]:
    for number in calls.values():
        yield from ((EQUALS, 0, 1, number), (RETURN, 0, 0, FAIL | error))


def _judged(calls: Mapping[str, int]) -> Iterator[Instruction]:
    """Refuse sockets of every kind but pairs of connected streams, new namespaces, limits of others, and typing into terminals.

    A pair of datagram sockets could still send to any address.
    """
    refused, denied = (RETURN, 0, 0, FAIL | errno.EPERM), (RETURN, 0, 0, FAIL | errno.EACCES)
    yield from ((EQUALS, 0, 1, calls["socket"]), denied)
    pair = [(LOAD, 0, 0, _argument(1)), (AND, 0, 0, SOCK_TYPE), (EQUALS, 0, 1, SOCK_DGRAM), denied, _ALLOWED]
    yield from _called(calls["socketpair"], pair)
    yield from _called(calls["clone"], [(LOAD, 0, 0, _argument(0)), (ANY_BIT, 0, 1, NEW_NAMESPACES), refused, _ALLOWED])
    yield from _called(calls["prlimit64"], [(LOAD, 0, 0, _argument(0)), (EQUALS, 1, 0, 0), refused, _ALLOWED])
    typing = [line for request in TERMINAL_INPUT for line in ((EQUALS, 0, 1, request), refused)]
    yield from _called(calls["ioctl"], [(LOAD, 0, 0, _argument(1)), *typing, _ALLOWED])


_ALLOWED: Instruction = (RETURN, 0, 0, ALLOW)


def _called(number: int, lines: list[Instruction]) -> list[Instruction]:
    """Return lines that are run for one call only."""
    return [(EQUALS, 0, len(lines), number), *lines]


def _argument(number: int) -> int:
    """Return where the lower half of an argument is; all that are looked at are 32 bits wide."""
    return ARGUMENTS + 8 * number
