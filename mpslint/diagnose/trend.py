"""How much a series of numbers grows, and whether it jumps once."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from statistics import median

from mpslint.core.series import theil_sen, thinned


def growth(values: Sequence[float]) -> float:
    """Return how much the trend adds over the series, as a share of the level of its first quarter."""
    thin = [value for _, value in thinned(values)]
    start = median(thin[: max(1, len(thin) // 4)])
    return theil_sen(values) * (len(values) - 1) / start if start > 0 else 0.0


def jump(values: Sequence[float], least: float, share: float) -> int | None:
    """Return the index after the one lasting rise that makes up most of the range, or None.

    The rise must exceed `least` of the level before it and `share` of the range, and stay for three points or more.
    """
    if len(values) < 6:
        return None
    rises = [after - before for before, after in itertools.pairwise(values)]
    at = max(range(len(rises)), key=rises.__getitem__) + 1
    before, after = values[:at], values[at:]
    if len(before) < 3 or len(after) < 3:
        return None
    rise = rises[at - 1]
    low, high = median(before), median(after)
    lasting = high - low > 0.7 * rise and min(after) > low + 0.5 * rise
    return at if lasting and rise > least * low and rise > share * (max(values) - min(values)) else None
