"""A Python check: `mpslint/checks/NAME.py`, which holds a function `find`."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from mpslint.core.finding import RuleError


@functools.lru_cache(maxsize=256)
def check_module(name: str) -> Any:
    """Return `mpslint/checks/NAME.py`. Raises RuleError when there is none."""
    try:
        return importlib.import_module(f"mpslint.checks.{name}")
    except ModuleNotFoundError:
        raise RuleError(f"there is no check {name!r} in mpslint/checks/") from None
