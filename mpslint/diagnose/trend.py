"""Whether a series of numbers grows, jumps once or stays flat, by ranks, so that single outliers do not decide."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

_MOST = 240


@dataclass(frozen=True, slots=True)
class Trend:
    """The Theil-Sen slope of a series by point, and the Mann-Kendall z that tells growth from noise."""

    slope: float
    z: float


def trend(values: Sequence[float]) -> Trend:
    """Return the trend of at least two values."""
    values = thinned(values, _MOST)
    count = len(values)
    pairs = [(values[j] - values[i], j - i) for i in range(count) for j in range(i + 1, count)]
    score = sum((difference > 0) - (difference < 0) for difference, _ in pairs)
    spread = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    z = (score - (score > 0) + (score < 0)) / spread
    return Trend(median(difference / distance for difference, distance in pairs), z)


def growth(values: Sequence[float]) -> float:
    """Return how much the trend adds over the series, as a share of the level of its first quarter."""
    thin = thinned(values, _MOST)
    start = median(thin[: max(1, len(thin) // 4)])
    return trend(thin).slope * (len(thin) - 1) / start if start > 0 else 0.0


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


def thinned(values: Sequence[float], most: int) -> Sequence[float]:
    """Return at most `most` of the values, evenly chosen, the first and the last among them."""
    if len(values) <= most:
        return values
    return [values[round(index * (len(values) - 1) / (most - 1))] for index in range(most)]
