"""The last training run that `mpslint run` watched on this Mac, kept for `mpslint report --measurement`: numbers only."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mpslint.verify.cache import ResultsCache
from mpslint.verify.record import from_data, to_data

NAME = "last-run"
SHOWN = (1, 2, 5)
"""Steps whose memory is kept: these, ten times these, and so on."""


@dataclass(frozen=True, slots=True)
class MemoryAt:
    """Memory at the end of a step, in bytes, and how many batch shapes there were until then; -1 where that isn't known."""

    step: int
    live: int
    driver: int
    shapes: int = -1


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """What was measured: seconds of each warm step's median and tenths, memory by step, and in what it was computed."""

    script: str
    """Its absolute path, which isn't printed: it finds what is predicted for the same script."""
    device: str
    torch: str
    steps: int
    seconds: tuple[float, float, float]
    """The median of a warm step, and its 10th and 90th percentile."""
    memory: tuple[MemoryAt, ...]
    dtypes: tuple[str, ...] = ()
    """Of the parameters that are trained."""
    computed: Mapping[str, int] = field(default_factory=dict)
    """Layers by the dtype that they compute in."""


def shown(last: int) -> set[int]:
    """Return the steps of a run whose memory is kept: 1, 2, 5, 10, ... and the last."""
    decades = itertools.takewhile(lambda scale: scale <= last, (10**power for power in itertools.count()))
    return {first * scale for scale in decades for first in SHOWN if first * scale <= last} | {last}


def keep(run: MeasuredRun) -> None:
    """Keep a run in place of the one before; a folder that can't be written to is no reason to stop."""
    ResultsCache.here().write(NAME, to_data(run))


def last_run() -> MeasuredRun | None:
    """Return the run that was watched last; None where there is none."""
    data: Any = ResultsCache.here().read(NAME)
    try:
        return from_data(MeasuredRun, data) if data is not None else None
    except (ValueError, LookupError, TypeError):
        return None


def memory_of(steps: Sequence[tuple[int, int | None, int | None, int | None]]) -> tuple[MemoryAt, ...]:
    """Return the memory that is kept of steps given as number, live bytes, driver bytes and shapes so far."""
    wanted = shown(steps[-1][0]) if steps else set()
    given = [(number, *(-1 if one is None else one for one in rest)) for number, *rest in steps if number in wanted]
    return tuple(MemoryAt(*row) for row in given if row[1] >= 0 or row[2] >= 0)
