"""How far the runs are: a bar for each, its live and driver memory, and the batch shape in hand.
Silent where nobody watches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from mpslint.core.inert import inert
from mpslint.verify.verdict import size


class Live:
    """A live view of running jobs on a terminal."""

    def __init__(self, stream: TextIO) -> None:
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
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._progress.stop()

    def aside(self, ask: Callable[[str], bool]) -> Callable[[str], bool]:
        """Return a question that is asked while this view is not drawn."""

        def asked(path: str) -> bool:
            self._progress.stop()
            try:
                return ask(path)
            finally:
                self._progress.start()

        return asked

    def progress(self, name: str, data: Mapping[str, Any]) -> None:
        """Show how far one job is."""
        with self._lock:
            task = self._tasks.get(name)
            if task is None:
                task = self._tasks[name] = self._progress.add_task(inert(name), total=data["total"], seen="")
            self._progress.update(task, completed=data["done"], total=data["total"], seen=_seen(data))


def _seen(data: Mapping[str, Any]) -> str:
    """Return the memory and the shape that a job reports."""
    parts = [f"{label} {size(data[name])}" for label, name in (("peak", "live"), ("driver", "driver")) if data.get(name, -1) >= 0]
    return "  ".join([*parts, str(data.get("shapes", ""))[:40]])
