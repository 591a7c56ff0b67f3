"""What was measured on one machine, and what that says there: rates (seconds of an operator by its kind and size), and real runs."""

from __future__ import annotations

import bisect
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mpslint.core.versions import Version
from mpslint.estimate.forecast import Forecast, MacTime
from mpslint.estimate.step import StepWork
from mpslint.estimate.timing import FIXED, LAUNCHES, Chip, StepTime, constants, ends, overlapped, step_time, variants_of

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
        is_flop = one.kind in rates.by_flop and one.flop > 0
        curve = rates.curves.get(one.kind) if is_flop or one.kind not in rates.by_flop else None
        device[one.part] += one.count * at(curve or rates.curves["elementwise"], one.flop if is_flop else one.moved)
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


@dataclass(frozen=True, slots=True)
class Here:
    """The time of a step on this machine, and what it rests on."""

    machine: str
    device: str
    step: StepTime
    basis: str
    matmul: float = 0.0
    """The best measured matmul, in FLOP/s, which tells variants of a chip apart; 0 where it is not known."""


def calibrated(work: StepWork, rates: Calibration) -> Here:
    """Return the time of a step at rates that were measured."""
    parts = calibrated_parts(work, rates, constants().overlap)
    seconds = sum(parts.values())
    time = StepTime(seconds, *ends("calibrated", seconds), parts)
    threads = ", one thread" if rates.device == "cpu" else ""
    basis = f"from operators measured on {rates.date} ({rates.device}, torch {rates.torch}{threads})"
    return Here(rates.machine, rates.device, time, basis, rates.rate("matmul"))


def measured(seconds: float, off: float, machine: str, device: str, said: str) -> Here:
    """Return the time of a step that was run: `off` is half its own spread, `said` when and for how long."""
    return Here(machine, device, StepTime(seconds, seconds * (1 - off), seconds * (1 + off)), f"measured {said}")


def with_here(made: Forecast, here: Here, versions: Mapping[str, Version]) -> Forecast:
    """Return the forecast with a row for this machine first; the other Macs are scaled from it where it is a Mac."""
    title = f"this Mac ({here.machine})" if here.device == "mps" else f"this machine ({here.device}, {here.machine})"
    own = MacTime(title, 0, "yes", here.step, here.basis)
    chip = _chip(here) if here.device == "mps" else None
    if chip is None:
        return replace(made, rows=(own, *made.rows))
    factor = here.step.seconds / step_time(made.work, chip, versions.get("torch")).seconds
    return replace(made, rows=(own, *(_scaled(row, factor) for row in made.rows)))


def _scaled(row: MacTime, factor: float) -> MacTime:
    """Return a row whose time is the model's, corrected by what this machine showed."""
    if row.step is None:
        return row
    seconds = row.step.seconds * factor
    parts = {name: value * factor for name, value in row.step.parts.items()}
    return replace(row, step=StepTime(seconds, *ends("scaled", seconds), parts), basis="scaled from this Mac")


def _chip(here: Here) -> Chip | None:
    """Return the chip of this Mac; of two variants the one whose rate is nearer, None where that is not known."""
    variants = variants_of(here.machine)
    if len(variants) > 1 and not here.matmul:
        return None
    return min(variants, key=lambda chip: abs(chip.rate("float32") - here.matmul), default=None)
