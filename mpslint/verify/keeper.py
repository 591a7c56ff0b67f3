"""Stands between `process.run` and the command that it runs, so that nothing of the command outlives its parent.

Started as a program of its own, with the standard library only. Whatever the command leaves behind becomes a child of the keeper where
the system offers that (Linux: a child subreaper), whether or not it left its session, its parent or its environment. The keeper ends all
of it when the command ends, when the parent says so, and when the parent dies, killed with SIGKILL included.

With the word `guard` it stands beside a command that is its parent's own child, and ends it only when the parent dies.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import signal
import site
import subprocess
import sys
import time
from collections.abc import Iterator

STOP = b"stop"
"""What the parent sends to end the command; the end of its pipe without it means that the parent died."""
TICK = 0.05
PATIENCE = 1.0
GUARD = "guard"
GRACE = 10.0
"""Seconds that a training has to save what it may, when it is asked to end because its parent died."""
PR_SET_CHILD_SUBREAPER = 36


def main(arguments: list[str]) -> int:
    """Run `LIFELINE COUNT FOLDER... COMMAND...` to its end; return its exit code, negative for a signal.

    LIFELINE is the descriptor of a pipe that the parent holds open. The folders are removed only when the parent died.
    """
    if arguments[0] == GUARD:
        return guard(int(arguments[1]), int(arguments[2]))
    lifeline, count = int(arguments[0]), int(arguments[1])
    folders, command = {name: _identity(name) for name in arguments[2 : 2 + count]}, arguments[2 + count :]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # a signal to the group reaches the parent too, and the parent decides
    os.set_inheritable(lifeline, False)
    become_subreaper()
    process = subprocess.Popen(command, preexec_fn=_as_usual, close_fds=False, start_new_session=True)
    _let_go_of_output()
    told = _wait(process, lifeline)
    code = process.poll()
    end_all(process)
    if told is None:
        for folder, made in folders.items():
            if _identity(folder) == made:  # not what was moved to its place since
                shutil.rmtree(folder, ignore_errors=True)
    if code is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = process.wait(PATIENCE)
    return code if code is not None else -signal.SIGKILL


def guard(lifeline: int, command: int) -> int:
    """Wait for the parent's word that the command has ended; where the parent dies without it, end the command and its descendants."""
    if os.read(lifeline, len(STOP)):
        return 0
    family = {command, *descendants(command)}
    _send(command, signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    while (
        time.monotonic() < deadline and _send(command, 0) and (command, True) not in {(number, is_dead) for number, _, is_dead in _rows()}
    ):
        time.sleep(TICK)
        family |= set(descendants(command))
    for number in family:
        _send(number, signal.SIGKILL)
    return 0


def _identity(path: str) -> tuple[int, int] | None:
    try:
        about = os.lstat(path)
    except OSError:
        return None
    return about.st_dev, about.st_ino


def become_subreaper() -> None:
    """Become the parent of every descendant that loses its own (Linux)."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _as_usual() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _let_go_of_output() -> None:
    """The output's pipe ends with the command, not with the keeper."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)


def _wait(process: subprocess.Popen[bytes], lifeline: int) -> bytes | None:
    """Wait for the command's end or the parent's word; return the word, None when the parent died."""
    while process.poll() is None:
        if select.select([lifeline], [], [], TICK)[0]:
            return os.read(lifeline, len(STOP)) or None
        _reap(process)
    return b""


def end_all(process: subprocess.Popen[bytes]) -> None:
    """End every descendant: asked first, then killed, for as long as there are any."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and (running := descendants(os.getpid())):
        for number in running:
            _send(number, signal.SIGTERM)
        time.sleep(TICK)
        _reap(process)
    deadline = time.monotonic() + 10 * PATIENCE
    while time.monotonic() < deadline and descendants(os.getpid()):
        for number in descendants(os.getpid()):
            _send(number, signal.SIGSTOP)  # what is stopped makes no more of itself
        for number in descendants(os.getpid()):
            _send(number, signal.SIGKILL)
        time.sleep(TICK)
        _reap(process)


def _send(number: int, sign: int) -> bool:
    """Send a signal, 0 for none; return whether there is such a process."""
    with contextlib.suppress(OSError):
        os.kill(number, sign)
        return True
    return False


def _reap(process: subprocess.Popen[bytes]) -> None:
    """Take leave of dead orphans; the command's own exit code stays for `process`."""
    process.poll()
    with contextlib.suppress(ChildProcessError, AttributeError):  # macOS has no waitid before Python 3.13, and gives us no orphans
        while (dead := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            process.poll() if dead.si_pid == process.pid else os.waitpid(dead.si_pid, 0)


def descendants(ancestor: int) -> list[int]:
    """Return the living processes that descend from one."""
    rows = list(_rows())
    found, grows = {ancestor}, True
    while grows:
        more = {number for number, parent, _ in rows if parent in found} - found
        found |= more
        grows = bool(more)
    return [number for number, _, is_dead in rows if number in found and number != ancestor and not is_dead]


def _rows() -> Iterator[tuple[int, int, bool]]:
    """Yield (pid, parent, whether it is dead) of every process here."""
    if not os.path.isfile("/proc/self/stat"):
        yield from _asked()
        return
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as stream:
            state, parent = stream.read().rpartition(b")")[2].split()[:2]
            yield int(name), int(parent), state in b"ZX"


def _asked() -> Iterator[tuple[int, int, bool]]:
    """Yield the same where the system has no /proc, by psutil, which verify needs; nothing without it."""
    site.main()  # this program is started without the packages
    with contextlib.suppress(ImportError):
        import psutil

        for one in psutil.process_iter(["ppid", "status"]):
            yield one.pid, one.info["ppid"] or 0, one.info["status"] == psutil.STATUS_ZOMBIE


def leave(code: int) -> None:
    """End as the command ended: with its exit code, or by its signal."""
    if code < 0:
        with contextlib.suppress(OSError, ValueError):
            if -code not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
