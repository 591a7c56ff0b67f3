"""A progress bar, for a person at a terminal who has waited half a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")
PATIENCE = 0.5
"""Seconds before the bar shows."""


def with_progress(items: Iterable[Item], total: int | None, what: str) -> Iterator[Item]:
    """Yield the items, with a progress bar on standard error once they take longer than half a second."""
    if not sys.stderr.isatty():
        yield from items
        return
    start = time.monotonic()
    iterator = iter(items)
    done = 0
    for item in iterator:
        done += 1
        yield item
        if time.monotonic() - start > PATIENCE:
            break
    else:
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total, completed=done)
        for item in iterator:
            progress.advance(task)
            yield item
