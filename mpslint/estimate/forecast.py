"""How long a run takes on each Mac: does it fit, a step, samples and tokens a second, and what bounds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from mpslint.core.versions import Version
from mpslint.estimate.chips import ChipAndMemory
from mpslint.estimate.constants import Compiling, compiling
from mpslint.estimate.levers import advice
from mpslint.estimate.step import StepWork
from mpslint.estimate.timing import StepTime, not_known, step_time
from mpslint.target.macs import limits

Fits = Literal["yes", "tight", "no"]


@dataclass(frozen=True, slots=True)
class MacTime:
    """One Mac's row. Times are None where nothing is known: a run that does not fit swaps, and no model says how slowly."""

    mac: str
    memory_gb: int
    fits: Fits
    step: StepTime | None = None
    samples_per_second: float = 0.0
    tokens_per_second: float = 0.0
    basis: str = ""
    """Where the time comes from when it isn't the model alone: measured on this machine, scaled from it."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a step is made of, and how long it takes on each Mac."""

    rows: tuple[MacTime, ...]
    samples: int
    flop: float
    moved: float
    launches: float
    waits: float
    graphs_first: int
    graphs_planned: int
    advice: tuple[str, ...] = ()
    unknown: tuple[str, ...] = field(default=())
    compiling: Compiling | None = None
    """What compiling one graph takes."""


def forecast(work: StepWork, peak: int, macs: Sequence[ChipAndMemory], versions: Mapping[str, Version]) -> Forecast:
    """Return the forecast of a run whose memory peaks at `peak` bytes."""
    rows = tuple(_row(work, peak, mac, versions) for mac in macs)
    taken = [mac for mac, row in zip(macs, rows, strict=True) if row.step is not None]
    counted = (work.samples, work.flop, work.moved, work.launches, work.waits, work.graphs_first, work.graphs_planned)
    unknown = tuple(dict.fromkeys(said for mac in macs if (said := not_known(work, mac.chip))))
    return Forecast(rows, *counted, advice(work, taken, versions), unknown, compiling(versions))


def _row(work: StepWork, peak: int, mac: ChipAndMemory, versions: Mapping[str, Version]) -> MacTime:
    bounds = limits(mac.memory, versions.get("macos"))
    fits: Fits = "yes" if peak <= bounds.recommended - bounds.reserve else "tight" if peak <= bounds.recommended else "no"
    if fits == "no" or not_known(work, mac.chip):
        return MacTime(mac.title, mac.memory, fits)
    step = step_time(work, mac.chip, versions.get("torch"))
    return MacTime(mac.title, mac.memory, fits, step, work.samples / step.seconds, work.tokens / step.seconds)
