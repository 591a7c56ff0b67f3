"""Statistics of a series of numbers by ranks, so that single outliers do not decide: its slope, and whether that is more than noise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import median

MOST = 240
"""A longer series is judged by so many of its points."""


def thinned(values: Sequence[float], most: int = MOST) -> list[tuple[int, float]]:
    """Return at most `most` of the values with their places, evenly chosen, the first and the last among them."""
    if len(values) <= most:
        return list(enumerate(values))
    places = [round(number * (len(values) - 1) / (most - 1)) for number in range(most)]
    return [(place, values[place]) for place in places]


def theil_sen(values: Sequence[float]) -> float:
    """Return the median of the slopes between all pairs of points; 0 for fewer than two."""
    points = thinned(values)
    slopes = [(later - earlier) / (j - i) for number, (i, earlier) in enumerate(points) for j, later in points[number + 1 :]]
    return median(slopes) if slopes else 0.0


def mann_kendall(values: Sequence[float]) -> float:
    """Return how many standard deviations a series rises more than one without trend would (ties counted); 0 for a constant one."""
    points = [value for _, value in thinned(values)]
    count = len(points)
    score = sum((later > earlier) - (later < earlier) for number, earlier in enumerate(points) for later in points[number + 1 :])
    ties = sum(same * (same - 1) * (2 * same + 5) for same in Counter(points).values())
    variance = (count * (count - 1) * (2 * count + 5) - ties) / 18
    return (score - (score > 0) + (score < 0)) / math.sqrt(variance) if variance > 0 else 0.0
