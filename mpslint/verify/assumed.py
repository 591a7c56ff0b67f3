"""What a failure is worth where the shapes of batches aren't known.

A run doesn't fail on shapes that are only assumed. On lengths that are drawn it fails only if it does with each of three distributions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from mpslint.core.knowledge import platform_data
from mpslint.verify.outcome import Check, RunResult
from mpslint.verify.report import VerifyReport
from mpslint.verify.spec import Lengths, RunSpec
from mpslint.verify.verdict import decide

BY_SHAPES = ("driver memory", "compiled graphs", "fits", "evaluation", "generation")
"""Checks that the shapes of batches decide."""
Judge = Callable[[Sequence[RunSpec]], Sequence[tuple[RunResult, Sequence[Check]]]]
"""Runs specs, and returns the result and the checks of each."""


def without_invented_failures(spec: RunSpec, result: RunResult, checks: Sequence[Check], judge: Judge) -> list[Check]:
    """Return the checks of a run, those that fail by shapes which nobody knows as inconclusive; `judge` runs it with other lengths."""
    if spec.shapes == "known" or not any(_fails_by_shapes(check, result) for check in checks):
        return list(checks)
    if spec.shapes == "assumed":
        why = "the shapes of the batches are assumed"
        return [_doubted(check, why) if _fails_by_shapes(check, result) else check for check in checks]
    others = distributions(spec)
    return _settled(checks, result, judge(others), len(others), [other.source.median for other in others])


def decided_by_lengths(result: RunResult, checks: Sequence[Check]) -> bool:
    """Return whether a run of own code fails by texts that were drawn, whose lengths nobody knows."""
    return result.has_assumed_lengths and any(_fails_by_shapes(check, result) for check in checks)


def with_other_lengths(report: VerifyReport, run: Callable[[float], VerifyReport]) -> VerifyReport:
    """Return the report on own code with its failures by drawn lengths inconclusive, unless they are there with all other lengths too.

    `run` gives the report with the lengths multiplied by a number.
    """
    times, usual = platform_data("assumptions")["other_medians"], platform_data("drawn_rows")["lengths"]["text"]["median"]
    emulated = next(one for one in report.runs if one.has_assumed_lengths)
    found = [(one.runs[0], one.verdicts[0].checks) for one in map(run, times) if one.runs]
    medians = [usual * one for one in times]
    settled = ((one.name, _settled(one.checks, emulated, found, len(times), medians)) for one in report.verdicts)
    return replace(report, verdicts=tuple(decide(name, checks) for name, checks in settled))


def _settled(
    checks: Sequence[Check], result: RunResult, found: Sequence[tuple[RunResult, Sequence[Check]]], wanted: int, medians: Sequence[float]
) -> list[Check]:
    """Return checks, of those that fail with drawn lengths what the runs with other lengths make of them."""
    return [_settle(check, found, wanted, medians) if _fails_by_shapes(check, result) else check for check in checks]


def _settle(check: Check, found: Sequence[tuple[RunResult, Sequence[Check]]], wanted: int, medians: Sequence[float]) -> Check:
    # A run that dies early shows too little for the other checks: it doesn't speak against them.
    count = sum(bool(run.out_of_memory) or any(one.name == check.name and one.status == "fail" for one in ran) for run, ran in found)
    if count == wanted:
        also = " and ".join(f"{median:.0f}" for median in medians)
        return replace(check, reason=f"{check.reason.removesuffix('.')}; also with drawn lengths of median {also}")
    return _doubted(check, f"the lengths are drawn, and it fails with {1 + count} of {1 + wanted} distributions of them")


def distributions(spec: RunSpec) -> list[RunSpec]:
    """Return a run with the other distributions of its drawn lengths."""

    def scaled(lengths: Lengths, times: float) -> Lengths:
        return replace(lengths, median=max(1.0, min(round(lengths.median * times), lengths.limit))) if lengths.median else lengths

    return [
        replace(spec, source=scaled(spec.source, times), target=scaled(spec.target, times) if spec.target is not None else None)
        for times in platform_data("assumptions")["other_medians"]
    ]


def _doubted(check: Check, why: str) -> Check:
    return replace(check, status="inconclusive", reason=f"{check.reason}; {why}", is_doubted=True)


def _fails_by_shapes(check: Check, result: RunResult) -> bool:
    return check.status == "fail" and (check.name in BY_SHAPES or (check.name == "starts" and result.out_of_memory == 1))
