"""The memory of the last verify, kept for `mpslint report`: which runs there were, and what they needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mpslint.core.finding import UsageError
from mpslint.diagnose.issue_report import RunMemory
from mpslint.verify.cache import ResultsCache
from mpslint.verify.driver_memory import range_on_a_mac
from mpslint.verify.measured_run import MemoryAt, shown
from mpslint.verify.record import from_data, to_data
from mpslint.verify.sizes import size

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


def keep(reports: Sequence[VerifyReport]) -> None:
    """Keep what the runs of some reports needed, in place of what was kept; a folder that cannot be written to is no reason to stop."""
    rows = [_row(report.subject, run) for report in reports for run in report.runs if any(step.live >= 0 for step in run.steps)]
    ResultsCache.here().write(NAME, to_data(rows))


def last_runs() -> tuple[RunMemory, ...]:
    """Return what the runs of the last verify needed; empty where none is known."""
    return tuple(one.needed for one in _kept())


def emulated_memory(file: str) -> tuple[MemoryAt, ...]:
    """Return the memory by step of the last verify of a file (by its absolute path), where that was emulated; empty where there is none."""
    return next((one.by_step for one in _kept() if one.needed.backend == "emulated" and one.file == file), ())


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


def _kept() -> list[_Kept]:
    try:
        return [from_data(_Kept, row) for row in ResultsCache.here().read(NAME) or ()]
    except (UsageError, TypeError):
        return []
