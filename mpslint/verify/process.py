"""Runs a child process within limits of time, memory and output, and leaves nothing of it running."""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from mpslint.verify import keeper

Given = TypeVar("Given")
Made = TypeVar("Made")
MARK = "MPSLINT_RUN"
KEPT_OUTPUT = 64 * 1024
GRACE = 2.0
MOST_FILES = 200_000
"""Files that a child may write."""
LEAST_FREE = 256 * 2**20
"""Bytes of the disk that stay free."""
LOOK_SECONDS = 1.0
"""How often the memory of the tree and the disk are looked at."""
LAST_READS = 64
"""Chunks that are still taken once the command is over."""
PATIENCE = 15.0
"""Seconds that the keeper may take to end what it keeps."""


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """What a child may use: seconds, bytes of memory over its whole tree, bytes of output, bytes of disk."""

    seconds: float = 600.0
    memory: int = 8 * 2**30
    output: int = 256 * 2**20
    disk: int = 8 * 2**30


@dataclass(slots=True)
class ChildEnd:
    """How a child ended: its exit code, why it was stopped (empty when it ended by itself), and the last of its output."""

    code: int
    stopped: str
    output: str


@dataclass(slots=True)
class Output:
    """The last part of what a process printed, and how much it was in all."""

    kept: bytearray = field(default_factory=bytearray)
    total: int = 0

    def add(self, chunk: bytes) -> None:
        """Take a chunk; drop what is too long ago."""
        self.total += len(chunk)
        self.kept += chunk
        del self.kept[:-KEPT_OUTPUT]

    def text(self) -> str:
        """Return the last part as text."""
        return self.kept.decode("utf-8", "replace")


def run(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    limits: ChildLimits,
    watch: Callable[[], None] | None = None,
    *,
    descriptors: Sequence[int] = (),
    scratch: Sequence[Path] = (),
) -> ChildEnd:
    """Run a command to its end or to its limits; call `watch` a few times a second meanwhile.

    Nothing of it is left running, even when this process is killed; the folders `scratch` are removed then, which its own cleanup cannot.
    The command inherits `descriptors`.
    """
    mark = uuid.uuid4().hex
    start = time.monotonic()
    with _Keeper(command, folder, {**environment, MARK: mark}, descriptors, scratch) as keeper:
        stopped, resident, looked, before = "", 0, start, _used(scratch)
        try:
            while keeper.process.poll() is None:
                if time.monotonic() - looked > LOOK_SECONDS:
                    stopped, resident, looked = _fills_disk(scratch, limits, before), _resident(keeper.process.pid), time.monotonic()
                stopped = stopped or _over(keeper.output, limits, start, resident)
                if stopped or ENDING.is_set():
                    break
                if watch is not None:
                    watch()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    keeper.process.wait(0.1)
            if watch is not None:
                watch()
        finally:
            keeper.end(mark)
    code = keeper.process.returncode
    return ChildEnd(code, stopped, keeper.output.text())


ENDING = threading.Event()
"""Set while `at_once` ends because of an exception: every run stops."""


def at_once(work: Callable[[Given], Made], given: Sequence[Given]) -> list[Made]:
    """Return what some work makes of each thing given, of two at a time where there are two cores.

    An exception, such as Ctrl-C or SIGTERM, stops the runs of the other threads, and no later ones.
    """
    try:
        with ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
            try:
                return list(pool.map(work, given))
            except BaseException:
                ENDING.set()
                raise
    finally:
        ENDING.clear()


class _Keeper:
    """The keeper of a command (keeper.py), the pipe by which it knows that this process is alive, and what the command prints."""

    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], descriptors: Sequence[int], scratch: Sequence[Path]
    ) -> None:
        ours, self.lifeline = os.pipe()
        arguments = [str(ours), str(len(scratch)), *map(str, scratch), *command]
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(Path(keeper.__file__)), *arguments],
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(ours, *descriptors),
            )
        except BaseException:
            os.close(self.lifeline)
            raise
        finally:
            os.close(ours)
        self.output = Output()
        self._is_done = threading.Event()
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()

    def __enter__(self) -> _Keeper:
        return self

    def __exit__(self, *error: object) -> None:
        """Let go of the pipe and of the output, whoever else still holds its other end."""
        self._is_done.set()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def _drain(self) -> None:
        """Read what the command prints, so that it never waits for us; an escaped process that holds the pipe is not waited for."""
        assert self.process.stdout is not None
        pipe = self.process.stdout.fileno()
        last = LAST_READS
        with selectors.DefaultSelector() as waiting:
            waiting.register(pipe, selectors.EVENT_READ)
            while last:
                last -= self._is_done.is_set()
                if not waiting.select(0.1):
                    if self._is_done.is_set():
                        return
                elif chunk := os.read(pipe, 65536):
                    self.output.add(chunk)
                else:
                    return

    def end(self, mark: str) -> None:
        """Have the keeper end all that runs below it; where it was killed, do that here."""
        with contextlib.suppress(OSError):
            os.write(self.lifeline, keeper.STOP)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
        finally:
            os.close(self.lifeline)
            end_tree(self.process.pid, mark)
            self.process.wait()


def _over(output: Output, limits: ChildLimits, start: float, resident: int) -> str:
    """Return why the tree must be stopped, empty when it may go on."""
    if time.monotonic() - start > limits.seconds:
        return f"it ran longer than {limits.seconds:.0f} seconds"
    if output.total > limits.output:
        return f"it printed more than {limits.output // 2**20} MiB"
    if resident > limits.memory:
        return f"it used more than {limits.memory / 2**30:.1f} GiB of memory"
    return ""


def _fills_disk(folders: Sequence[Path], limits: ChildLimits, before: tuple[int, int]) -> str:
    """Return why a child must be stopped for what it writes, empty where it may go on.

    `before` is what `_used` gave at the start. What is deleted and held open is no file any more, but leaves the disk less room.
    """
    size, files = (now - then for now, then in zip(_used(folders), before, strict=True))
    if size > limits.disk:
        return f"it wrote more than {limits.disk / 2**30:.1f} GiB to the disk"
    if files > MOST_FILES:
        return f"it wrote more than {MOST_FILES} files"
    with contextlib.suppress(OSError, IndexError):
        if size and shutil.disk_usage(folders[0]).free < LEAST_FREE:
            return f"the disk has less than {LEAST_FREE // 2**20} MiB left"
    return ""


def _used(folders: Sequence[Path]) -> tuple[int, int]:
    """Return the bytes of the disk that the files below some folders take, and how many files these are."""
    size = files = 0
    for folder in folders:
        for here, _, names in os.walk(folder):
            files += len(names)
            for name in names:
                with contextlib.suppress(OSError, ValueError):
                    about = os.lstat(os.path.join(here, name))
                    size += about.st_blocks * 512 if hasattr(about, "st_blocks") else about.st_size
    return size, files


def tree(pid: int) -> list[Any]:
    """Return a process and all that descend from it, as psutil's; nothing where it has ended."""
    import psutil

    with contextlib.suppress(psutil.Error):
        first = psutil.Process(pid)
        return [first, *first.children(recursive=True)]
    return []


def _resident(pid: int) -> int:
    """Return the bytes that a process and all that descend from it hold."""
    return sum(about.rss for one in tree(pid) if (about := _asked(one, "memory_info")))


def marked(mark: str) -> list[Any]:
    """Return the processes that carry our mark in their environment, those that left the tree included."""
    import psutil

    return [one for one in psutil.process_iter() if (_asked(one, "environ") or {}).get(MARK) == mark]


def _asked(one: Any, name: str) -> Any:
    """Return what a process says of itself; None where it has ended or isn't ours."""
    import psutil

    with contextlib.suppress(psutil.Error, OSError):
        return getattr(one, name)()
    return None


def end_tree(pid: int, mark: str) -> None:
    """End a process, its descendants and whatever carries its mark: first asked, then killed."""
    for sign, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, GRACE)):
        deadline = time.monotonic() + patience
        while True:
            alive = [one for one in {*tree(pid), *marked(mark)} if one.pid != os.getpid() and _asked(one, "status") not in (None, "zombie")]
            if not alive:
                return
            for one in alive:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(one.pid, sign)
            if time.monotonic() > deadline:
                break
            time.sleep(0.05)
