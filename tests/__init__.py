"""The tests of mpslint; a module's tests have its name."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).parents[1]
Item = TypeVar("Item")


LONG = 300
"""Seconds for which a process may keep a loaded machine waiting before a test gives it up: far more than it takes, far less than for ever."""


def some_of(items: Sequence[Item], every: int) -> Sequence[Item]:
    """Return every so-manieth of many alike cases; all of them where MPSLINT_DEEP is set."""
    return items if os.environ.get("MPSLINT_DEEP") else items[::every]


def comes_true(condition: Callable[[], object]) -> bool:
    """Wait until a condition holds, as long as a slow machine may need; return whether it does."""
    until = time.monotonic() + LONG
    while not (holds := condition()) and time.monotonic() < until:
        time.sleep(0.1)
    return bool(holds)


def runs(process: int) -> bool:
    """Return whether a process is there and has not ended; who takes the exit code of one that has is not our matter. Linux only."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
