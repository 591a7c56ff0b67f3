"""The memory of the last verify, kept for `mpslint report`: which runs there were, and what they needed."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpslint.diagnose.issue_report import RunMemory
from mpslint.verify.cache import ResultsCache
from mpslint.verify.measured_run import MemoryAt, shown

if TYPE_CHECKING:
    from mpslint.verify.outcome import RunResult
    from mpslint.verify.report import VerifyReport

NAME = "last-verify"


def keep(reports: Sequence[VerifyReport]) -> None:
    """Keep what the runs of some reports needed, in place of what was kept; a folder that cannot be written to is no reason to stop."""
    rows = [_row(report.subject, run) for report in reports for run in report.runs if any(step.live >= 0 for step in run.steps)]
    ResultsCache.here().write(NAME, rows)


def last_runs() -> tuple[RunMemory, ...]:
    """Return what the runs of the last verify needed; empty where none is known."""
    try:
        return tuple(_run(row) for row in ResultsCache.here().read(NAME) or ())
    except (ValueError, LookupError, TypeError):
        return ()


def _row(subject: str, run: RunResult) -> dict[str, Any]:
    known = [step for step in run.steps if step.live >= 0]
    return {
        "name": f"{subject}, {run.name}",
        "backend": run.backend,
        "steps": len(run.steps),
        "live": [known[0].live, known[-1].live],
        "driver": [known[0].driver, known[-1].driver],
        "peak": max(run.largest_peak, *(step.peak for step in known)),
        "file": str(Path(subject).resolve()),
        "by_step": [[step.step, max(step.live, step.blocks), step.driver] for step in known if step.step in shown(known[-1].step)],
    }


def emulated_memory(file: str) -> tuple[MemoryAt, ...]:
    """Return the memory by step of the last verify of a file (by its absolute path), where that was emulated; empty where there is none."""
    for row in ResultsCache.here().read(NAME) or ():
        with contextlib.suppress(ValueError, LookupError, TypeError):
            if row["backend"] == "emulated" and row["file"] == file:
                return tuple(MemoryAt(int(step), int(live), int(driver)) for step, live, driver in row["by_step"])
    return ()


def _run(row: dict[str, Any]) -> RunMemory:
    live, driver = (int(row["live"][0]), int(row["live"][1])), (int(row["driver"][0]), int(row["driver"][1]))
    return RunMemory(str(row["name"]), str(row["backend"]), int(row["steps"]), live, driver, int(row["peak"]))
