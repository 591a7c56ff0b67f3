"""From the work of a step to seconds on a chip: a roofline for each operator, launches, and the spread that was measured."""

from __future__ import annotations

import fnmatch
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from mpslint.core.versions import Version
from mpslint.estimate.chips import Chip
from mpslint.estimate.constants import Constants, Spread, Uncovered, constants, spreads
from mpslint.estimate.step import Operators, StepWork

LAUNCHES, FIXED = "launches", "fixed"


@dataclass(frozen=True, slots=True)
class StepTime:
    """An estimated step: seconds, the range that the measured spread gives, and the seconds of each part."""

    seconds: float
    low: float
    high: float
    parts: Mapping[str, float]
    wide: tuple[str, ...] = ()
    """Why the range is wide; empty where the published points cover this."""

    def scaled(self, factor: float) -> StepTime:
        """Return the time of `factor` such steps."""
        parts = {name: value * factor for name, value in self.parts.items()}
        return StepTime(self.seconds * factor, self.low * factor, self.high * factor, parts, self.wide)


def step_time(work: StepWork, chip: Chip, torch: Version | None = None, model: Constants | None = None) -> StepTime:
    """Return the estimated time of a step on a chip, with its range; `model` stands in for the shipped constants."""
    parts = seconds_by_part(work, chip, model or constants(), torch)
    seconds = sum(parts.values())
    table, uncovered = spreads()
    wide = tuple(_uncovered(work, chip, seconds, uncovered))
    spread: Spread = table["wide" if wide else "usual"]
    return StepTime(seconds, seconds * spread.low, seconds * spread.high, parts, wide)


def seconds_by_part(work: StepWork, chip: Chip, model: Constants, torch: Version | None = None) -> dict[str, float]:
    """Return the seconds of each part; they sum up to the step.

    The GPU works while the program launches what comes next, so the longer of both counts, and a share of the shorter one.
    """
    older = torch is not None and chip.generation in model.older_generations and model.older.matches({"torch": torch})
    device: dict[str, float] = defaultdict(float)
    for one in work.operators:
        device[one.part] += one.count * operator_seconds(one, chip, model, is_older=older)
    launching = work.launches * chip.launch * model.launch
    return {**overlapped(device, launching, model.overlap), FIXED: model.fixed + work.waits * model.wait}


def overlapped(device: Mapping[str, float], launching: float, overlap: float) -> dict[str, float]:
    """Return the seconds of each part and of launches, of which `overlap` is the share of the shorter one that still counts."""
    if sum(device.values()) >= launching:
        return {**device, LAUNCHES: overlap * launching}
    return {name: value * overlap for name, value in device.items()} | {LAUNCHES: launching}


def operator_seconds(one: Operators, chip: Chip, model: Constants, *, is_older: bool = False) -> float:
    """Return how long one operator keeps the GPU busy."""
    moving = one.moved / (chip.bandwidth * model.share)
    efficiency = model.efficiency.get(one.kind)
    if efficiency is None or not one.flop:
        return moving
    if is_older and one.kind == "matmul":
        efficiency *= model.older_factor
    return max(one.flop / (chip.rate(one.dtype) * efficiency), moving)


def _uncovered(work: StepWork, chip: Chip, seconds: float, uncovered: Uncovered) -> list[str]:
    """Return why the published points say little of a step on a chip."""
    said = []
    if seconds < uncovered.seconds:
        said.append(f"steps under {uncovered.seconds:g} s")
    if any(fnmatch.fnmatchcase(chip.name, glob) for glob in uncovered.chips):
        said.append(f"few measurements of {chip.name}")
    half = sum(one.flop * one.count for one in work.operators if one.dtype in uncovered.dtypes)
    said += [f"{kind} layers" for kind in uncovered.kinds if _weight(kind, work, chip) > uncovered.share]
    if half > uncovered.share * (work.flop or 1.0):
        said.append("half precision")
    return said


def not_known(work: StepWork, chip: Chip) -> str:
    """Return why nothing is known of the time of a step; '' where something is."""
    _, uncovered = spreads()
    share = sum(_weight(kind, work, chip) for kind in uncovered.unknown_kinds)
    return uncovered.unknown if share > uncovered.unknown_share else ""


def _weight(kind: str, work: StepWork, chip: Chip) -> float:
    """Return the share of a kind in what the GPU does."""
    if not any(one.kind == kind and one.flop for one in work.operators):
        return 0.0
    model = constants()
    busy = {one: one.count * operator_seconds(one, chip, model) for one in work.operators}
    return sum(value for one, value in busy.items() if one.kind == kind) / (sum(busy.values()) or 1.0)
