"""Start the user's command as it is, with the probe in its environment, and watch it until it ends."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpslint.core.finding import UsageError
from mpslint.core.scratch import scratch_folder
from mpslint.run.events import EventFolder, Observed
from mpslint.run.probe import STOP
from mpslint.run.system import resident_bytes, swap_bytes
from mpslint.run.watcher import Watcher
from mpslint.verify import keeper

POLL_SECONDS = 0.25
SYSTEM_SECONDS = 5.0
HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """How the command ended: its exit code as a shell gives it (128 + the signal's number), the signal, and what was observed."""

    exit_code: int
    observed: Observed
    signal: int = 0


def command_line(words: Sequence[str]) -> list[str]:
    """Return the command to start: `train.py ...` and `-m module ...` run under the Python that has torch, anything else as it is.

    Raises UsageError for a notebook, for a file that isn't there, and for a command that isn't found.
    """
    first = words[0]
    if first.endswith(".ipynb"):
        raise UsageError(f"{first}: a notebook runs in Jupyter; begin it with `%load_ext mpslint` and `%mpslint run` (docs/verify.md)")
    if first.endswith(".py"):
        if not Path(first).is_file():
            raise UsageError(f"{first}: no such file")
        return [_python(), *words]
    if first == "-m":
        return [_python(), *words]
    found = shutil.which(first)
    if found is None:
        raise UsageError(f"{first}: no such command; name a script (train.py), -m MODULE, or a command such as accelerate launch")
    return [found, *words[1:]]


def _python() -> str:
    """Return this Python, or the one that a shell finds where this one has no torch: mpslint may be installed apart, as by uvx or pipx."""
    if importlib.util.find_spec("torch") is not None:
        return sys.executable
    return shutil.which("python") or shutil.which("python3") or sys.executable


def environment(events: str) -> dict[str, str]:
    """Return the environment of the command: the user's own, with the probe in front of PYTHONPATH."""
    path = os.pathsep.join(filter(None, [str(HERE / "startup"), os.environ.get("PYTHONPATH", "")]))
    own = {"MPSLINT_RUN_PROBE": str(HERE / "probe.py"), "MPSLINT_RUN_EVENTS": events, "MPSLINT_RUN_BY": str(os.getpid())}
    return {**os.environ, "PYTHONPATH": path, **own}


def run(words: Sequence[str], watcher: Watcher, stop_before_swap: bool, keep: Callable[[Observed], None]) -> CommandEnd:
    """Run a command to its end; `keep` is called with what was observed whenever there is more of it.

    Standard input, output and error are the command's own. Ctrl-C reaches it as it would without mpslint; SIGTERM and SIGHUP are passed on,
    and then end what the command started and left behind too (where orphans can be told: on Linux). If this process is killed, the command
    gets SIGTERM, and SIGKILL ten seconds later.
    """
    keeper.become_subreaper()
    command = command_line(words)
    with scratch_folder("run-") as folder:
        events = EventFolder(Path(folder))
        watcher.swap_at_start = swap_bytes()
        start = time.monotonic()
        process = subprocess.Popen(command, env=environment(folder))
        observed = Observed()
        with _signals_passed_to(process) as passed:
            with _guarded(process):
                try:
                    _watch(process, events, watcher, start, stop_before_swap, keep)
                    observed = events.poll()
                    watcher.warn(observed)  # of the steps since the last poll: a short run may have been polled once
                    keep(observed)
                except Exception as error:  # a full disk, a bug of mpslint: the run goes on to its own end
                    with contextlib.suppress(OSError):  # its output is closed
                        watcher.say(f"warning: the run isn't watched from here on: {type(error).__name__}: {error}")
                    process.wait()
            if passed:
                keeper.end_all(process)
    code = process.returncode
    return CommandEnd(code, observed) if code >= 0 else CommandEnd(128 - code, observed, -code)


def _watch(
    process: subprocess.Popen[bytes],
    events: EventFolder,
    watcher: Watcher,
    start: float,
    stop_before_swap: bool,
    keep: Callable[[Observed], None],
) -> None:
    asked_system = 0.0
    is_stopped = False
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(POLL_SECONDS)
            return
        now = time.monotonic()
        observed = events.poll()
        if now - asked_system > SYSTEM_SECONDS:
            asked_system, watcher.resident, watcher.swap = now, resident_bytes(observed.pid or process.pid), swap_bytes()
        watcher.look(observed, now - start)
        keep(observed)
        if stop_before_swap and watcher.is_swapping and not is_stopped:
            is_stopped = True
            watcher.say("stopping the run (--stop-before-swap): Ctrl-C after this step, so that the trainer can save")
            if observed.steps and not observed.blind:
                (events.folder / STOP).touch()  # the process that trains interrupts itself when its step is done
            else:
                process.send_signal(signal.SIGINT)


@contextlib.contextmanager
def _guarded(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Have the command ended if this process dies before it, killed with SIGKILL included."""
    if os.name != "posix":
        yield
        return
    theirs, ours = os.pipe()
    words = [sys.executable, "-I", "-S", keeper.__file__, keeper.GUARD, str(theirs), str(process.pid)]
    nothing = subprocess.DEVNULL
    guard = subprocess.Popen(words, pass_fds=[theirs], stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True)
    os.close(theirs)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # the guard was killed
            os.write(ours, keeper.STOP)
        os.close(ours)
        guard.wait()


@contextlib.contextmanager
def _signals_passed_to(process: subprocess.Popen[bytes]) -> Iterator[list[int]]:
    """Leave Ctrl-C to the command, which gets it from the terminal itself, and pass SIGTERM and SIGHUP on to it; yield those passed."""
    sent: list[int] = []

    def passed(number: int, _: object) -> None:
        sent.append(number)
        process.send_signal(number)

    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    previous = {number: signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else passed) for number in numbers}
    try:
        yield sent
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
