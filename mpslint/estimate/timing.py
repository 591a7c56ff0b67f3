"""From the work of a step to seconds on a chip: a roofline for each operator, launches, and the spread that was measured
(`rules/platform/step_time.yaml`); and the chips: cores, bandwidth, memory sizes, and the matmul rates measured on them
(`rules/platform/chips.yaml`)."""

from __future__ import annotations

import fnmatch
import functools
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mpslint.core.finding import UsageError
from mpslint.core.knowledge import platform_data
from mpslint.core.versions import Version, VersionRange
from mpslint.estimate.step import Operators, StepWork

LAUNCHES, FIXED = "launches", "fixed"


@dataclass(frozen=True, slots=True)
class StepTime:
    """What a step, or compiling one graph, takes: seconds, the range that the measured spread gives, and the seconds of a step's parts."""

    seconds: float
    low: float
    high: float
    parts: Mapping[str, float] = field(default_factory=dict)
    wide: tuple[str, ...] = ()
    """Why the range is wide; empty where the published points cover this."""


def step_time(work: StepWork, chip: Chip, torch: Version | None = None, model: Constants | None = None) -> StepTime:
    """Return the estimated time of a step on a chip, with its range; `model` stands in for the shipped constants."""
    parts = seconds_by_part(work, chip, model or constants(), torch)
    seconds = sum(parts.values())
    wide = tuple(_uncovered(work, chip, seconds))
    return StepTime(seconds, *ends("wide" if wide else "usual", seconds), parts, wide)


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


def _uncovered(work: StepWork, chip: Chip, seconds: float) -> list[str]:
    """Return why the published points say little of a step on a chip."""
    said, uncovered = [], platform_data("step_time")["wide"]
    if seconds < uncovered["seconds"]:
        said.append(f"steps under {uncovered['seconds']:g} s")
    if any(fnmatch.fnmatchcase(chip.name, glob) for glob in uncovered["chips"]):
        said.append(f"few measurements of {chip.name}")
    half = sum(one.flop * one.count for one in work.operators if one.dtype in uncovered["dtypes"])
    said += [f"{kind} layers" for kind in uncovered["kinds"] if _weight(kind, work, chip) > uncovered["share"]]
    if half > uncovered["share"] * (work.flop or 1.0):
        said.append("half precision")
    return said


def not_known(work: StepWork, chip: Chip) -> str:
    """Return why nothing is known of the time of a step; '' where something is."""
    unknown = platform_data("step_time")["unknown"]
    share = sum(_weight(kind, work, chip) for kind in unknown["kinds"])
    return str(unknown["say"]) if share > unknown["share"] else ""


def _weight(kind: str, work: StepWork, chip: Chip) -> float:
    """Return the share of a kind in what the GPU does."""
    if not any(one.kind == kind and one.flop for one in work.operators):
        return 0.0
    model = constants()
    busy = {one: one.count * operator_seconds(one, chip, model) for one in work.operators}
    return sum(value for one, value in busy.items() if one.kind == kind) / (sum(busy.values()) or 1.0)


@dataclass(frozen=True, slots=True)
class Constants:
    """What turns a step's work into seconds. Efficiencies and `share` are parts of a chip's measured rates and bandwidth."""

    efficiency: Mapping[str, float]
    share: float
    overlap: float
    fixed: float
    """Seconds that each step takes whatever it does."""
    launch: float
    wait: float
    """Seconds of one wait for the GPU."""
    older: VersionRange
    older_generations: tuple[str, ...]
    older_factor: float


@functools.lru_cache(maxsize=1)
def constants() -> Constants:
    """Return the constants that mpslint ships."""
    return made_of(platform_data("step_time"))


def made_of(table: Mapping[str, Any]) -> Constants:
    """Return the constants of a table in the form of `step_time.yaml`."""
    model, older = table["model"], table["older"]
    return Constants(
        efficiency={kind: float(value) for kind, value in model["efficiency"].items()},
        **{name: float(model[name]) for name in ("share", "overlap", "fixed", "launch", "wait")},
        older=VersionRange.parse(older["versions"]),
        older_generations=tuple(older["generations"]),
        older_factor=float(older["matmul"]),
    )


def ends(spread: str, seconds: float) -> tuple[float, float]:
    """Return what steps estimated at `seconds` were measured at, the 5th and the 95th percentile, by the name of the spread."""
    row = platform_data("step_time")["spread"][spread]
    return seconds * row["low"], seconds * row["high"]


def compiling(versions: Mapping[str, Version]) -> StepTime | None:
    """Return what compiling a graph takes in a torch; None where the torch is not known."""
    rows = (row for row in platform_data("step_time")["compile"] if VersionRange.parse(row["versions"]).matches(versions))
    return next((StepTime(row["milliseconds"] / 1e3, row["low"] / 1e3, row["high"] / 1e3) for row in rows), None)


@dataclass(frozen=True, slots=True)
class Chip:
    """One GPU that is sold. Rates are FLOP/s of one core by dtype, bandwidth is bytes/s, launch is seconds."""

    name: str
    cores: int
    bandwidth: float
    memory: tuple[int, ...]
    generation: str
    rates: Mapping[str, float]
    launch: float

    @property
    def title(self) -> str:
        """The name with its cores, which tell variants apart: `M4 Pro (20 GPU cores)`."""
        return f"{self.name} ({self.cores} GPU cores)"

    def rate(self, dtype: str) -> float:
        """Return the FLOP/s of the whole GPU; a dtype that nobody measured counts as float32."""
        return self.cores * self.rates.get(dtype, self.rates["float32"])


@dataclass(frozen=True, slots=True)
class ChipAndMemory:
    """A chip with one of its memory sizes, in GB."""

    chip: Chip
    memory: int

    @property
    def title(self) -> str:
        """`M4 Pro 20 cores, 24 GB`."""
        return f"{self.chip.name} {self.chip.cores} cores, {self.memory} GB"


@functools.lru_cache(maxsize=1)
def chips() -> tuple[Chip, ...]:
    """Return all chips."""
    table = platform_data("chips")
    return tuple(_chip(row, table["generations"][row["name"].split()[0]]) for row in table["chips"])


def variants_of(text: str) -> tuple[Chip, ...]:
    """Return the variants that a name means, in any case; none for one that isn't known."""
    wanted = " ".join(text.lower().removeprefix("apple ").split())
    return tuple(chip for chip in chips() if chip.name.lower() == wanted)


def named_chips(text: str) -> tuple[Chip, ...]:
    """Return the variants that a name means: `M4 Pro`, in any case. Raises UsageError naming the known ones."""
    found = variants_of(text)
    if not found:
        known = ", ".join(dict.fromkeys(chip.name for chip in chips()))
        raise UsageError(f"there is no chip {text!r}; known chips are {known}")
    return found


def chip_of(machine: str, cores: int | None) -> Chip | None:
    """Return the chip of a Mac by what macOS calls it and how many cores its GPU has; None where it's none that is known."""
    variants = variants_of(machine)
    return next((chip for chip in variants if chip.cores == cores), variants[0] if cores is None and len(variants) == 1 else None)


def macs_of(names: tuple[str, ...]) -> tuple[ChipAndMemory, ...]:
    """Return every Mac sold with the chips named, or those that reports list where none is named. Raises UsageError."""
    if names:
        return tuple(ChipAndMemory(chip, size) for name in names for chip in named_chips(name) for size in chip.memory)
    known = {(chip.name, chip.cores): chip for chip in chips()}
    return tuple(ChipAndMemory(known[row["name"], row["cores"]], row["memory"]) for row in platform_data("chips")["listed"])


def _chip(row: Mapping[str, Any], generation: Mapping[str, Any]) -> Chip:
    rates = {**generation["rates"], **row.get("rates", {})}
    return Chip(
        row["name"],
        row["cores"],
        row["bandwidth"] * 1e9,
        tuple(row["memory"]),
        row["name"].split()[0],
        {dtype: rate["tflops"] * 1e12 for dtype, rate in rates.items()},
        generation["launch"]["us"] * 1e-6,
    )
