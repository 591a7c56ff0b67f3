"""A progress bar, for a person at a terminal who has waited half a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

PATIENCE = 0.5
"""Seconds before the bar shows."""
Advance = Callable[[int], None]
"""Told how many more are done; 0 only says that time has passed."""


@contextmanager
def progress(total: int | None, what: str) -> Iterator[Advance]:
    """Give a function that is told of progress; a bar shows it on standard error from half a second on, where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda count: None
        return
    start, done = time.monotonic(), 0
    with ExitStack() as stack:
        bar: Callable[[int], None] | None = None

        def advance(count: int) -> None:
            nonlocal done, bar
            done += count
            if bar is None and time.monotonic() - start > PATIENCE:
                bar = stack.enter_context(_bar(total, what))
            if bar is not None:
                bar(done)

        yield advance


@contextmanager
def _bar(total: int | None, what: str) -> Iterator[Callable[[int], None]]:
    """Show a bar while the block runs, and give the function that sets how many are done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=total)
        yield lambda done: shown.update(task, completed=done)
