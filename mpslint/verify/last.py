"""The last verify and the last run that `mpslint run` watched on this Mac, kept for `mpslint report`: numbers only."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mpslint.diagnose.issue_report import RunMemory
from mpslint.verify.cache import ResultsCache
from mpslint.verify.driver_memory import range_on_a_mac
from mpslint.verify.outcome import size

if TYPE_CHECKING:
    from mpslint.verify.outcome import RunResult
    from mpslint.verify.report import VerifyReport


NAME = "last-verify"


@dataclass(frozen=True, slots=True)
class _Kept:
    """What one run needed, by step too, and the absolute path of its file."""

    file: str
    needed: RunMemory
    by_step: tuple[MemoryAt, ...]


@dataclass(frozen=True, slots=True)
class _LastVerify:
    """What the runs of the last verify needed."""

    runs: tuple[_Kept, ...] = ()


def keep(reports: Sequence[VerifyReport]) -> None:
    """Keep what the runs of some reports needed, in place of what was kept; a folder that cannot be written to is no reason to stop."""
    rows = [_row(report.subject, run) for report in reports for run in report.runs if any(step.live >= 0 for step in run.steps)]
    ResultsCache.here().write(NAME, _LastVerify(tuple(rows)))


def last_runs() -> tuple[RunMemory, ...]:
    """Return what the runs of the last verify needed; empty where none is known."""
    return tuple(one.needed for one in _last_verify().runs)


def emulated_memory(file: str) -> tuple[MemoryAt, ...]:
    """Return the memory by step of the last verify of a file (by its absolute path), where that was emulated; empty where there is none."""
    return next((one.by_step for one in _last_verify().runs if one.needed.backend == "emulated" and one.file == file), ())


def _row(subject: str, run: RunResult) -> _Kept:
    known = [step for step in run.steps if step.live >= 0]
    first, last = known[0], known[-1]
    peak = max(run.largest_peak, *(step.peak for step in known))
    needed = RunMemory(f"{subject}, {run.name}", run.backend, len(run.steps), (first.live, last.live), driver_words(run), peak)
    by_step = [MemoryAt(step.step, max(step.live, step.blocks), step.driver) for step in known if step.step in shown(last.step)]
    return _Kept(str(Path(subject).resolve()), needed, tuple(by_step))


def driver_words(run: RunResult) -> str:
    """Return the driver memory of a run in words: from its first to its last step, of a small one between what it lies on a Mac."""
    known = [step.driver for step in run.steps if step.live >= 0]
    return range_on_a_mac(run) or " to ".join(size(driver) if driver >= 0 else "?" for driver in (known[0], known[-1]))


def _last_verify() -> _LastVerify:
    return ResultsCache.here().read(NAME, _LastVerify) or _LastVerify()


WATCHED = "last-run"
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


def keep_watched(run: MeasuredRun) -> None:
    """Keep a run in place of the one before; a folder that can't be written to is no reason to stop."""
    ResultsCache.here().write(WATCHED, run)


def last_run() -> MeasuredRun | None:
    """Return the run that was watched last; None where there is none."""
    return ResultsCache.here().read(WATCHED, MeasuredRun)


def memory_of(steps: Sequence[tuple[int, int | None, int | None, int | None]]) -> tuple[MemoryAt, ...]:
    """Return the memory that is kept of steps given as number, live bytes, driver bytes and shapes so far."""
    wanted = shown(steps[-1][0]) if steps else set()
    given = [(number, *(-1 if one is None else one for one in rest)) for number, *rest in steps if number in wanted]
    return tuple(MemoryAt(*row) for row in given if row[1] >= 0 or row[2] >= 0)
