"""A step-by-step memory log, classified: live tensors grow, only the driver grows, one jump, or flat."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from mpslint.core.series import mann_kendall, theil_sen, thinned
from mpslint.diagnose.memory_points import Point, read_points, reading
from mpslint.target.macs import macs

LIVE_GROWS = "memory-live-grows"
DRIVER_GROWS = "memory-driver-grows"
EVALUATION_JUMP = "memory-jump-at-evaluation"
JUMP = "memory-jump"
FLAT = "memory-flat"
TOO_SHORT = "memory-too-short"


@dataclass(frozen=True, slots=True)
class MemoryLog:
    """A classified memory log.

    `certain` is False where the log is too short for its verdict; `jump_step` is where the one jump is; `dropped`
    counts points that no machine can have; without `has_units` only the shape of the curve was read.
    """

    verdict: str
    certain: bool
    points: int
    first: Point
    last: Point
    jump_step: float | None
    dropped: int
    has_units: bool


def read_memory_log(text: str) -> MemoryLog | None:
    """Return the memory log in a text, classified, or None when it holds none."""
    found, thresholds = read_points(text), reading()["thresholds"]
    most = thresholds["impossible"] * macs().largest_memory if found.has_units else float("inf")
    points = [point for point in found.points if max(point.live or 0, point.driver or 0) <= most]
    if len(points) < 2:
        return None
    verdict, jump_step = classify(points, text, thresholds, reading()["evaluation"])
    long_enough = verdict != FLAT or len(points) >= thresholds["flat_needs"]
    return MemoryLog(
        verdict=verdict,
        certain=verdict != TOO_SHORT and long_enough,
        points=len(points),
        first=points[0],
        last=points[-1],
        jump_step=jump_step,
        dropped=len(found.points) - len(points),
        has_units=found.has_units,
    )


def classify(points: Sequence[Point], text: str, thresholds: Mapping[str, float], evaluation: Sequence[str]) -> tuple[str, float | None]:
    """Return the verdict on a series of points, and the step of its jump when it has one."""
    if len(points) < thresholds["fewest"]:
        return TOO_SHORT, None
    kept = points[max(1, int(len(points) * thresholds["warm_up"])) :]
    live = [(point.live, point) for point in kept if point.live is not None]
    driver = [(point.driver, point) for point in kept if point.driver is not None]
    for series in (live, driver):
        at = jump([value for value, _ in series], thresholds["jump"], thresholds["jump_share"])
        if at is not None:
            before, after = series[at - 1][1], series[at][1]
            between = text[before.offset : after.offset].lower()
            evaluated = after.evaluating or any(word in between for word in evaluation)
            return EVALUATION_JUMP if evaluated else JUMP, after.step
    if _grows([value for value, _ in live], thresholds):
        return LIVE_GROWS, None
    return DRIVER_GROWS if _grows([value for value, _ in driver], thresholds) else FLAT, None


def _grows(values: Sequence[float], thresholds: Mapping[str, float]) -> bool:
    if len(values) < thresholds["fewest"] - 1:
        return False
    return growth(values) > thresholds["growth"] and mann_kendall(values) > thresholds["significance"]


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
