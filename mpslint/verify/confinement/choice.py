"""Which means of confinement this machine offers, found by trying them, and what each leaves open."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from mpslint.core.knowledge import platform_data
from mpslint.core.scratch import scratch_folder
from mpslint.verify.confinement import enter, probe, seccomp
from mpslint.verify.confinement.room import Room, downloads, environment_in, python_folders

OLDEST_LANDLOCK = 3
"""Before this version of its interface (Linux 6.2) Landlock lets files be cut short that may not be written."""
NEWEST_LANDLOCK = 6
ABI_VERSION = 1
SECONDS_TO_TRY = 20
SYSTEM_TOOLS: dict[str, Sequence[str]] = dict(platform_data("confinement")["tools"])


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
        calls = seccomp.program(guards_files=bool(self.landlock), holds_signals=holds_signals) if self.is_filtered else b""
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
    is_filtered, version = seccomp.is_known(), landlock_version()
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
