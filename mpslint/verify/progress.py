"""How far the runs are: a bar for each, its live and driver memory, and the batch shape in hand.
Where nobody watches, as in CI, a plain line for each part of the work that takes a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from mpslint.core.inert import inert
from mpslint.verify.outcome import size

SECONDS_IN_SILENCE = 5.0
"""A part of the work that takes longer is spoken of."""
STARTING = "starting"
"""What is done before the first job says how far it is."""


@dataclass(slots=True)
class Parts:
    """The parts of the work on one file, as they are told to a log: each once, when it has taken a while."""

    subject: str
    began: dict[str, float] = field(default_factory=dict)
    """When each part began that has not ended."""
    steps: dict[str, tuple[int, int]] = field(default_factory=dict)
    """How far each is: steps that are done, and all of them."""
    said: set[str] = field(default_factory=set)

    def note(self, name: str, done: int, total: int, now: float) -> None:
        """Note how far a part is; what came before the first one has ended."""
        self.began.pop(STARTING, None)
        self.began.setdefault(name, now)
        self.steps[name] = done, total
        if done >= total:
            del self.began[name]

    def due(self, now: float) -> list[str]:
        """Return a line for each part that has taken a while and was not spoken of yet."""
        slow = [name for name, began in self.began.items() if now - began >= SECONDS_IN_SILENCE and name not in self.said]
        self.said.update(slow)
        return [f"mpslint: {self.subject}: {name}{self._steps(name)}" for name in slow]

    def _steps(self, name: str) -> str:
        done, total = self.steps.get(name, (0, 0))
        return f", step {done} of {total}" if total else ""


class Live:
    """A live view of running jobs: bars on a terminal, lines of a log elsewhere. `subject` is the file that they are about."""

    def __init__(self, stream: TextIO, subject: str) -> None:
        self._stream, self._parts, self._ended = stream, Parts(subject, {STARTING: time.monotonic()}), threading.Event()
        self._console = Console(file=stream, stderr=True)
        self._progress = Progress(
            TextColumn("{task.description:<14}", markup=False),
            BarColumn(20),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TextColumn("{task.fields[seen]}", markup=False),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Live:
        self._progress.start()
        if not self._console.is_terminal:
            threading.Thread(target=self._tell, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._progress.stop()
        with self._lock:
            self._ended.set()

    def _tell(self) -> None:
        """Write lines for as long as the jobs run."""
        while not self._ended.wait(1.0):
            self._tell_now()

    def _tell_now(self) -> None:
        with self._lock:
            lines = [] if self._ended.is_set() else self._parts.due(time.monotonic())
            self._stream.write("".join(f"{inert(line)}\n" for line in lines))
            self._stream.flush()

    def progress(self, name: str, data: Mapping[str, Any]) -> None:
        """Show how far one job is."""
        with self._lock:
            self._parts.note(name, data["done"], data["total"], time.monotonic())
            task = self._tasks.get(name)
            if task is None:
                task = self._tasks[name] = self._progress.add_task(inert(name), total=data["total"], seen="")
            self._progress.update(task, completed=data["done"], total=data["total"], seen=_seen(data))


def _seen(data: Mapping[str, Any]) -> str:
    """Return the memory and the shape that a job reports."""
    peak = f"peak {size(data['live'])}" if isinstance(data.get("live"), int) and data["live"] >= 0 else ""
    driver = f"driver {str(data['driver'])[:40]}" if data.get("driver") else ""
    return "  ".join(filter(None, [peak, driver, str(data.get("shapes", ""))[:40]]))
