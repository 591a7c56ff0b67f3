"""The tests of mpslint; a module's tests have its name."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]


def comes_true(condition: Callable[[], object]) -> bool:
    """Wait until a condition holds, as long as a slow machine may need; return whether it does."""
    return any(condition() or time.sleep(0.1) for _ in range(600))
