"""Which means of confinement this machine offers, found by trying them, and what each leaves open; and the filter of system calls, as
the program for the kernel's packet filter that prctl(PR_SET_SECCOMP) takes."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import platform
import struct
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from mpslint.core.knowledge import platform_data
from mpslint.core.scratch import scratch_folder
from mpslint.verify.confinement import enter, probe
from mpslint.verify.confinement.room import Room, downloads, environment_in, python_folders

OLDEST_LANDLOCK = 3
"""Before this version of its interface (Linux 6.2) Landlock lets files be cut short that may not be written."""
NEWEST_LANDLOCK = 6
ABI_VERSION = 1
SECONDS_TO_TRY = 20
SYSTEM_TOOLS: dict[str, Sequence[str]] = dict(platform_data("confinement")["tools"])
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


@dataclass(frozen=True, slots=True)
class Confinement:
    """A way to confine a command, and what a trial of it left open."""

    tool: str = ""
    """bubblewrap, unshare, sandbox-exec, or none."""
    landlock: int = 0
    """Version of the interface of Landlock; 0 where it is not used."""
    is_filtered: bool = False
    """Whether system calls are filtered."""
    gaps: tuple[str, ...] = probe.ALL
    """What the trial could do though it should not: names of `probe.ALL`."""

    @property
    def name(self) -> str:
        """What confines, in words."""
        parts = [self.tool, "Landlock" if self.landlock else "", "a system call filter" if self.is_filtered else ""]
        return " and ".join(filter(None, [", ".join(filter(None, parts[:2])), parts[2]]))

    def command(self, room: Room, command: Sequence[str], folder: Path, scratch: Path, files: Sequence[Path] = ()) -> list[str]:
        """Return the command line that runs a command in a room, from `folder`. What it needs is written to `scratch`."""
        room.build()
        bounds = scratch / "bounds.json"
        bounds.write_text(json.dumps(self._bounds(room, [*files, bounds])), encoding="utf-8")
        ours = [Path(enter.__file__), bounds, *files]
        inner = [sys.executable, "-I", "-S", str(enter.__file__), str(bounds), *command]
        if self.tool == "bubblewrap":
            return [*bubblewrap(_path_of(self.tool), room, ours, folder), *inner]
        if self.tool == "sandbox-exec":
            return [*sandbox_exec(_path_of(self.tool), room, ours), *inner]
        return [*([_path_of(self.tool), *platform_data("confinement")["unshare"]] if self.tool else []), *inner]

    def _bounds(self, room: Room, files: Sequence[Path]) -> dict[str, object]:
        table = platform_data("confinement")["readable"]
        proc = ["/proc", "/sys"] if self.tool == "unshare" else [*table["proc"], "/proc/self"]
        own = [*map(str, readable(room)), *proc, *map(str, files)] if self.landlock else []
        granted = {
            "abi": self.landlock,
            "readable": own,
            "writable": [str(room.folder)],
            "devices": [*table["devices"], *map(str, room.devices)],
        }
        holds_signals = self.landlock < enter.SCOPES_FROM_ABI and self.tool not in ("bubblewrap", "unshare")
        calls = call_filter(guards_files=bool(self.landlock), holds_signals=holds_signals) if self.is_filtered else b""
        limits = {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": room.disk}
        beside = room.beside.entries
        return {"limits": limits, "landlock": granted if self.landlock else None, "beside": beside, "filter": calls.hex()}


@lru_cache(maxsize=1)
def confinement() -> Confinement:
    """Return the best confinement of this machine: the first that leaves nothing open, else the one that leaves least."""
    tried = []
    for candidate in candidates():
        tried.append(trial(candidate))
        if not tried[-1].gaps:
            break
    return min(tried, key=lambda one: len(one.gaps), default=Confinement())


def candidates() -> Iterator[Confinement]:
    """Yield the ways that this machine may offer, the best first."""
    if sys.platform == "darwin":
        if _path_of("sandbox-exec"):
            yield Confinement("sandbox-exec")
        return
    if sys.platform != "linux":
        return
    is_filtered, version = knows_calls(), landlock_version()
    if _path_of("bubblewrap"):
        yield Confinement("bubblewrap", is_filtered=is_filtered)
    if version >= OLDEST_LANDLOCK or is_filtered:
        if _path_of("unshare"):
            yield Confinement("unshare", version, is_filtered)
        yield Confinement("", version, is_filtered)


def landlock_version() -> int:
    """Return the version of Landlock's interface that can be used, 0 where there is none."""
    if sys.platform != "linux":
        return 0
    version: int = ctypes.CDLL(None).syscall(enter.CREATE_RULESET, None, ctypes.c_size_t(0), ABI_VERSION)
    return min(version, NEWEST_LANDLOCK) if version >= OLDEST_LANDLOCK else 0


def _path_of(tool: str) -> str:
    return next((path for path in SYSTEM_TOOLS[tool] if os.access(path, os.X_OK)), "")


def trial(candidate: Confinement) -> Confinement:
    """Return a confinement with what it leaves open: a small program tries, inside, what should not be possible."""
    with scratch_folder("trial-") as place, probe.Forbidden(Path(place) / "outside") as target:
        scratch, room = Path(place) / "scratch", Room(Path(place) / "room")
        scratch.mkdir()
        inner = [sys.executable, "-I", "-S", str(probe.__file__), *target.arguments]
        line = candidate.command(room, inner, room.folder, scratch, [Path(str(probe.__file__))])
        try:
            done = subprocess.run(
                line, cwd=room.folder, env=environment_in(room), capture_output=True, timeout=SECONDS_TO_TRY, check=False, text=True
            )
        except (OSError, subprocess.TimeoutExpired):
            return replace(candidate, gaps=probe.ALL)
        return replace(candidate, gaps=target.gaps(done.stdout) if done.returncode == 0 else probe.ALL)


def unconfined() -> str:
    """Return why nothing confines a script here."""
    if platform.system() == "Linux":
        return "bubblewrap is not installed, and neither Landlock (Linux 6.2) nor user namespaces can be used"
    return f"mpslint knows no way to confine a script on {sys.platform}"


ROOT_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")


def readable(room: Room) -> list[Path]:
    """Return everything that a command in a room may read, but for what lies beside its script."""
    system = [Path(path) for path in platform_data("confinement")["readable"]["linux"]]
    return [path for path in (*system, *python_folders(), *downloads().values(), *room.readable) if path.exists()]


def bubblewrap(tool: str, room: Room, files: Sequence[Path], folder: Path) -> list[str]:
    """Return the command that gives the command behind it namespaces of its own, and a file system of what the room grants.

    `files` are those of ours that the command must read; it starts in `folder`.
    """
    line = [tool, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"]
    line += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for path in readable(room):
        if str(path) in ROOT_LINKS and path.is_symlink():
            line += ["--symlink", os.readlink(path), str(path)]
        else:
            line += ["--ro-bind", str(path), str(path)]
    for place in room.beside.entries:  # enter.py compares what was mounted with what was to be
        line += ["--ro-bind-try", place, place]
    for link, target in room.beside.links.items():
        if not any(Path(link).is_relative_to(path) for path in readable(room)):  # else it is there
            line += ["--symlink", target, link]
    for path in files:
        line += ["--ro-bind", str(path), str(path)]
    for path in room.devices:
        if path.exists():
            line += ["--dev-bind", str(path), str(path)]
    line += ["--bind", str(room.folder), str(room.folder)]
    line += ["--remount-ro", "/proc"]  # root inside is the machine's root to /proc/sys, where core_pattern names a program to run
    return [*line, "--chdir", str(folder), "--"]


def sandbox_exec(tool: str, room: Room, files: Sequence[Path]) -> list[str]:
    """Return the command that confines the command behind it on macOS."""
    table = platform_data("confinement")["macos"]
    granted = _subpaths([*python_folders(), *downloads().values(), *room.readable, room.folder, *files])
    beside = _filters(room.beside.entries)  # not resolved once more: a link in the place of one would be followed
    filled = {"folder": _subpaths([room.folder]), "private": _subpaths(map(Path, table["private"])), "granted": f"{granted} {beside}"}
    return [tool, "-p", table["profile"].format_map(filled)]


def _subpaths(paths: Iterable[Path]) -> str:
    """Return filters for folders and files, as they resolve: macOS judges by resolved path."""
    return _filters(sorted({str(path.resolve()) for path in paths}))


def _filters(paths: Iterable[str]) -> str:
    escaped = (path.replace("\\", "\\\\").replace('"', '\\"') for path in paths)
    return " ".join(f'(subpath "{path}")' for path in escaped)


def knows_calls() -> bool:
    """Return whether the numbers of this machine's system calls are known."""
    return sys.platform == "linux" and sys.maxsize > 2**32 and platform.machine() in ARCHITECTURES


def call_filter(*, guards_files: bool, holds_signals: bool) -> bytes:
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
