"""Rates measured on one machine: seconds of an operator by its kind and size, and the step that they add up to."""

from __future__ import annotations

import bisect
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mpslint.estimate.step import StepWork
from mpslint.estimate.timing import FIXED, LAUNCHES, overlapped

Curve = tuple[tuple[float, float], ...]
"""Points (amount, seconds of one operator), the smallest first. The amount is FLOP where arithmetic bounds a kind, else bytes."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was measured on one machine with one torch. All times are seconds."""

    device: str
    """mps, cuda or cpu."""
    machine: str
    torch: str
    date: str
    curves: Mapping[str, Curve]
    by_flop: tuple[str, ...]
    """The kinds whose amounts are FLOP."""
    dispatch: float
    """What the program needs for one operator besides the operator itself."""
    wait: float
    compile: float
    """A shape that was not seen before."""
    seconds: float
    """How long the measuring took."""

    @property
    def overlaps(self) -> bool:
        """Whether the device works while the program goes on."""
        return self.device != "cpu"

    def rate(self, kind: str) -> float:
        """Return the best rate of a kind, in FLOP/s or bytes/s; 0 where it was not measured."""
        return max((amount / seconds for amount, seconds in self.curves.get(kind, ()) if seconds > 0), default=0.0)


def calibrated_parts(work: StepWork, rates: Calibration, overlap: float) -> dict[str, float]:
    """Return the seconds of each part of a step at measured rates. `overlap` is the share of the shorter one that still counts."""
    device: dict[str, float] = defaultdict(float)
    for one in work.operators:
        curve = rates.curves.get(one.kind) or rates.curves["elementwise"]
        amount = one.flop if one.kind in rates.by_flop and one.flop else one.moved
        if one.kind in rates.by_flop and not one.flop:
            curve = rates.curves["elementwise"]
        device[one.part] += one.count * at(curve, amount)
    launching, waits = work.launches * rates.dispatch, work.waits * rates.wait
    if not rates.overlaps:
        return {**device, LAUNCHES: launching, FIXED: waits}
    return {**overlapped(device, launching, overlap), FIXED: waits}


def at(curve: Sequence[tuple[float, float]], amount: float) -> float:
    """Return the seconds of an amount: between two points along the line through their logarithms, beyond the last at its rate."""
    if amount <= curve[0][0]:
        return curve[0][1]
    if amount >= curve[-1][0]:
        return curve[-1][1] * amount / curve[-1][0]
    place = bisect.bisect_left(curve, (amount, 0.0))
    (low, start), (high, end) = curve[place - 1], curve[place]
    share = math.log(amount / low) / math.log(high / low)
    return math.exp(math.log(start) + share * math.log(end / start))
