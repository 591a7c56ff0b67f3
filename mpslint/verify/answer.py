"""The answer in one sentence: what becomes of the run as it is written, and as it is rewritten."""

from __future__ import annotations

from collections.abc import Mapping

from mpslint.verify.outcome import RunResult, Verdict
from mpslint.verify.reading import PREDICTED
from mpslint.verify.report import VerifyReport
from mpslint.verify.sizes import size

LONGEST = 160
"""Letters of a reason that still read as a part of a sentence."""


def answer(report: VerifyReport) -> str:
    """Return the sentence; '' for a report without verdicts."""
    runs = {run.name: run for run in reversed(report.runs)}
    parts = [f"{verdict.name} it {_became(verdict, runs, report.machine.memory_gb)}" for verdict in report.verdicts]
    return "; ".join(parts) + "." if parts else ""


def _became(verdict: Verdict, runs: Mapping[str, RunResult], memory_gb: int) -> str:
    """Return what became of one run."""
    run = runs.get(verdict.name)
    if verdict.status == "not run" or run is None:
        return f"was not run: {_short(verdict.reason)}"
    if verdict.status == "pass":
        peak = f" and needs {size(run.largest_peak)} at its peak, which fits a {memory_gb} GB Mac" if run.largest_peak > 0 else ""
        return f"trains{peak}"
    if verdict.status == "inconclusive":
        return f"can't be judged: {_short(verdict.reason)}"
    check = next(check for check in verdict.checks if check.status == "fail")
    told = next((item.value for item in check.evidence if item.label == PREDICTED), "")
    if run.out_of_memory and (check.step == run.out_of_memory or check.name == "starts"):
        where = f"runs out of memory at step {run.out_of_memory} on a {memory_gb} GB Mac"
    elif check.name == "starts":
        where = f"stops with {_short(check.reason)}"
    else:
        where = f"fails: {f'{check.name} ' if check.name == 'live memory' else ''}{_short(check.reason)}"
    place = told or check.line
    return f"{where} ({place})" if place and place not in where else where


def _short(reason: str) -> str:
    """Return a reason without what explains it further, where it is long: its first sentence, or as many words as are read at once."""
    reason = reason.strip()
    for end in (". ", "; ", ": "):
        first = reason.partition(end)[0]
        if len(reason) > LONGEST >= len(first) > LONGEST // 3 and first.count("`") % 2 == 0:
            reason = first
    return reason.removesuffix(".") if len(reason) <= LONGEST else f"{reason[:LONGEST].rpartition(' ')[0].rstrip(':;,')} ..."
