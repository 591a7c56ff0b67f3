"""The last line of defence, inside the process of foreign code: no writes outside one folder, no network, no questions, no installing.

Python's audit hook sees what Python code does, and nothing that goes around Python. It explains in one line what the operating system
would refuse with an error (mpslint.verify.confinement), and is the only guard where the system offers none.
"""

from __future__ import annotations

import builtins
import getpass
import os
import signal
import sys
from collections.abc import Callable, Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from mpslint.core.knowledge import platform_data
from mpslint.verify.child.replaced import replaces

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
MOST_QUESTIONS = 3
"""Times that code may go on after its question was refused."""


class Refused(PermissionError):
    """The code wants to change something outside of its copy."""


def guard(folder: Path) -> None:
    """Refuse writes outside `folder` and the system's scratch devices, and commands that install or upload. There is no way back."""
    root, parent = os.path.realpath(folder), os.getppid()
    table = platform_data("confinement")["audit"]
    changing, local, commands = dict(table["changing"]), frozenset(table["local"]), frozenset(table["commands"])
    network, starting, signals = local.union(table["network"]), frozenset(table["starting"]), frozenset(table["signals"])
    watched = network.union(["open"], changing, starting, signals)

    def inside(path: Any) -> bool:
        if isinstance(path, int) or path is None:
            return True
        real = os.path.realpath(os.fsdecode(path))
        return real == root or real.startswith((root + os.sep, "/dev/", "/proc/self/"))

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event not in watched:  # most are, and each walk over frames is one
            return
        if event == "open":
            path, mode, flags = args
            writes = bool(flags & WRITES) if isinstance(flags, int) else bool(mode and set(mode) & set("wax+"))
            if writes and not inside(path):
                raise Refused(f"verify runs on a copy and writes nothing outside of it: {path!r}")
        elif event in changing and not all(map(inside, args[: changing[event]])):
            raise Refused(f"verify runs on a copy and changes nothing outside of it: {event} {args[0]!r}")
        elif event in starting:
            _refuse_commands(event, args, commands)
        elif event in network:
            address = args[1] if event in local else args[0]
            if not (event in local and isinstance(address, (str, bytes)) and inside(address)):
                raise Refused(f"verify does not use the network: {event} {str(address)[:80]}")
        elif event in signals and args[0] in (-1, 0, 1, parent):
            raise Refused(f"verify lets no signal out: {event} {args[0]}")

    sys.addaudithook(hook)


def _refuse_commands(event: str, args: tuple[Any, ...], commands: frozenset[str]) -> None:
    given = args[1] if event == "subprocess.Popen" and args[1] else args[0]
    words = os.fsdecode(given).split() if isinstance(given, (str, bytes)) else [os.fsdecode(word) for word in given]
    names = {os.path.basename(word) for word in words[:1]} | ({"pip"} if "pip" in words[:3] else set())
    if names & commands:
        raise Refused(f"verify does not run {' '.join(words)[:80]!r}")


class AskedUser(SystemExit):
    """Ends code that asks for input; no `except Exception` of theirs takes it."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def no_questions(again: Callable[[str], None]) -> None:
    """End the run when the code asks for input, instead of waiting for ever; `again` ends one that asks on."""
    times = 0

    def asked(prompt: object = "", *rest: object, **named: object) -> str:
        nonlocal times
        times += 1
        why = f"the code asks for input ({str(prompt)[:60]!r})"
        if times > MOST_QUESTIONS:
            again(why)
        raise AskedUser(why)

    builtins.input = asked
    getpass.getpass = asked


def note_processes(line: Callable[[], str]) -> list[str]:
    """Return a list that gets the user's line of each process that the code starts itself."""
    found: list[str] = []

    @replaces(BaseProcess, "start")
    def started(start: Any, self: BaseProcess) -> None:
        found.append(line())
        start(self)

    return found


def keep_signals() -> None:
    """Let no handler of the code keep the process from being ended: asked to end, it ends."""

    @replaces(signal, "signal")
    def set_handler(original: Any, number: Any, handler: Any) -> Any:
        if number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
            return signal.SIG_DFL
        return original(number, handler)


def set_environment(variables: Mapping[str, str]) -> None:
    """Set what a launch script sets: of what is set here only what concerns torch and the like, so that the run stays in its place."""
    prefixes = tuple(platform_data("confinement")["environment"]["prefixes"])
    os.environ.update({name: text for name, text in variables.items() if name.startswith(prefixes) or name not in os.environ})
