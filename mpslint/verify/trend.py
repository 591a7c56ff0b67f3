"""Whether a curve grows: jumps taken apart from slopes, judged by what the growth comes to over the run that the user
means to do."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from mpslint.core.series import mann_kendall, theil_sen

Kind = Literal["flat", "growth", "slowing", "step", "short"]
FLOOR = 256 * 2**20
TELLS = 60
"""Steps without which a run is too short to say that what varies with the shapes of batches never settles."""
SHARE = 0.10
SIGNIFICANT = 2.33
"""Standard deviations above chance: one in a hundred."""


@dataclass(frozen=True, slots=True)
class Trend:
    """What a curve does: its kind, its slope a step, what the growth comes to by the end, and its jumps."""

    kind: Kind
    slope: float
    projected: float
    """Growth from here to the end of the run that the user means to do."""
    jumps: tuple[tuple[int, float], ...] = ()
    """Index and height of lasting upward jumps."""
    reason: str = ""


def judge(values: Sequence[float], horizon: int) -> Trend:
    """Return what a curve of one value a step does; `horizon` is the number of steps that the user means to do."""
    if len(values) < 8:
        return Trend("short", 0.0, 0.0, reason="fewer than 8 steps")
    warm = max(5, len(values) // 5) if len(values) >= 15 else 2
    body, jumps = without_jumps(list(values[warm:]))
    base = median(body)
    jumps = tuple((index + warm, height) for index, height in jumps)
    limit = max(FLOOR, SHARE * base)
    raw, third = values[warm:], len(body) // 3
    if third > 1 and min(raw[-third:]) <= min(raw[:-third]) + 1e-3 * abs(base):
        return Trend("flat", 0.0, 0.0, jumps, "it comes back to where it was")
    left = max(horizon - len(values), len(values))
    matters = (max(body) - min(body)) / len(body) * left > limit
    period = sawtooth_period(body)
    if matters and period and len(body) < 3 * period:
        return Trend("short", 0.0, 0.0, jumps, f"it falls back every {period:.0f} steps: {3 * period:.0f} steps are needed to tell")
    slope = theil_sen(body)
    width = max(3, len(body) // 10)
    lowest = [min(body[start : start + width]) for start in range(0, len(body) - width + 1, width)]
    low = theil_sen(lowest) / width
    rises = slope > 0 and low > 0 and mann_kendall(body) > SIGNIFICANT
    late = theil_sen(body[len(body) // 2 :])
    projected = min(slope, low) * left
    if rises and projected > limit:
        if late < 0.5 * slope:
            return Trend("slowing", late, max(late, 0.0) * left, jumps)
        return Trend("growth", slope, projected, jumps)
    if jumps and sum(height for _, height in jumps) > limit:
        return Trend("step", max(slope, 0.0), 0.0, jumps)
    return Trend("flat", slope if rises else 0.0, max(projected, 0.0) if rises else 0.0, jumps)


def without_jumps(values: list[float]) -> tuple[list[float], tuple[tuple[int, float], ...]]:
    """Return a curve with its lasting upward jumps taken out, and the jumps. Drops stay: without them a sawtooth is a ramp."""
    changes = [after - before for before, after in itertools.pairwise(values)]
    middle = median(changes)
    spread = 1.4826 * median(abs(change - middle) for change in changes)
    least = max(8 * spread, 1e-3 * max(abs(value) for value in values), 1.0)
    found = []
    for index, change in enumerate(changes, start=1):
        if change - middle > least:
            before, after = values[max(0, index - 5) : index], values[index:]
            if min(after) > max(before) and min(after) - max(before) > 0.5 * change:
                found.append((index, median(after[:10]) - median(values[max(0, index - 10) : index])))
    if len(found) > 2:
        return values, ()
    flat = list(values)
    for index, height in found:
        flat[index:] = [value - height for value in flat[index:]]
    return flat, tuple(found)


def sawtooth_period(values: Sequence[float]) -> float:
    """Return the mean distance between large drops, 0 when there are none."""
    changes = [after - before for before, after in itertools.pairwise(values)]
    height = max(values) - min(values)
    spread = 1.4826 * median(abs(change - median(changes)) for change in changes)
    drops = [index for index, change in enumerate(changes) if -change > 0.5 * height and -change > 8 * spread and height > 0]
    if not drops:
        return 0.0
    if len(drops) == 1:
        return float(max(drops[0] + 1, len(values) - drops[0]))
    return (drops[-1] - drops[0]) / (len(drops) - 1)
