"""When the collector of cycles runs over a check of many files, during which it is switched off."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

OBJECTS_BETWEEN = 30_000
"""New objects after which it runs: few enough to be near at hand still, a long script's worth."""


@contextlib.contextmanager
def collected_when_due() -> Iterator[None]:
    """Switch the collector off, but for `collect_if_due`: left to itself, it looks at all syntax trees again and again as they are made."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()


def collect_if_due() -> None:
    """Collect what refers to itself in circles, if there may be much; what outlives it (rules, dialects) is not looked at again."""
    if not gc.isenabled() and gc.get_count()[0] > OBJECTS_BETWEEN:
        gc.collect()
        gc.freeze()
