"""The ladder of experiments that finds the cause of growth: from the smallest run on, one change at a time,
until a curve rises."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mpslint.verify.outcome import Backing, Check, RunResult, Status, Verdict
from mpslint.verify.report import VerifyReport
from mpslint.verify.spec import Evaluation, Lengths, RunSpec
from mpslint.verify.verify import VerifyOptions, run_spec
from mpslint.verify.work import Progress

RISING = ("live memory", "driver memory", "compiled graphs", "fits", "evaluation", "generation")


@dataclass(frozen=True, slots=True)
class Rung:
    """One experiment: its letter, what it changes against the one before, and the run."""

    letter: str
    change: str
    spec: RunSpec


def ladder(spec: RunSpec) -> Iterator[Rung]:
    """Yield the experiments in order, each named by what it adds; those that change nothing are left out."""
    small = replace(
        spec,
        train_batch=1,
        accumulation=1,
        padding="longest",
        pad_to_multiple_of=None,
        evaluation=None,
        source=_cut(spec.source, 512),
        target=_cut(spec.target, 64) if spec.target else None,
    )
    yield _rung("A", "dynamic padding, batch 1, no evaluation", small)
    fixed = replace(small, padding="max_length", pad_to_multiple_of=small.source.limit)
    yield _rung("B", "fixed padding", fixed)
    pair = replace(fixed, train_batch=2)
    yield _rung("C", "batch 2", pair)
    longer = replace(pair, source=_cut(spec.source, 768), target=_cut(spec.target, 96) if spec.target else None)
    longer = replace(longer, pad_to_multiple_of=longer.source.limit)
    yield _rung("D", "longer sequences", longer)
    evaluation = spec.evaluation or Evaluation(batch=2, samples=8)
    little = replace(longer, evaluation=replace(evaluation, samples=min(8, evaluation.samples), batch=min(2, evaluation.batch)))
    yield _rung("E", "a little evaluation", little)
    yield _rung("F", "the whole evaluation", replace(longer, evaluation=evaluation))
    yield _rung("as written", "everything as written", replace(spec, name="as written"))


def _cut(lengths: Lengths, limit: int) -> Lengths:
    return replace(lengths, limit=min(limit, lengths.limit), median=min(lengths.median, limit))


def _rung(letter: str, change: str, spec: RunSpec) -> Rung:
    return Rung(letter, change, replace(spec, name=letter if letter == "as written" else f"{letter} {change}"))


def run_matrix(spec: RunSpec, options: VerifyOptions, progress: Progress | None = None) -> VerifyReport:
    """Return the report on the ladder. It stops at the first rung, after A, on which memory rises,
    and names what that one added."""
    start = time.monotonic()
    runs: list[RunResult] = []
    verdicts: list[Verdict] = []
    rising: dict[str, list[Check]] = {}
    cause: tuple[str, Check] | None = None
    for rung in ladder(spec):
        result, checks = run_spec(rung.spec, options, progress)
        found = [check for check in checks if check.status == "fail" and check.name in RISING]
        runs.append(result)
        rising[rung.letter] = found
        status: Status = "fail" if found else "pass"
        verdicts.append(Verdict(rung.spec.name, status, found[0].reason if found else "nothing rises", tuple(found)))
        if found and rung.letter != "A":
            cause = (rung.change, found[0])
            break
    return VerifyReport(
        spec.model,
        options.machine,
        tuple(runs),
        tuple(verdicts),
        (conclude(rising, cause),),
        seconds=time.monotonic() - start,
        settings={"matrix": True},
    )


def conclude(rising: dict[str, list[Check]], cause: tuple[str, Check] | None) -> Check:
    """Return what the ladder says about the cause."""
    climbed = ", ".join(f"{letter} {'rises' if found else 'flat'}" for letter, found in rising.items())
    evidence = (Backing("experiments", climbed),)
    if rising.get("A") and not rising.get("B", []):
        return Check(
            "cause",
            "fail",
            f"batch shapes that keep changing: with fixed padding it stays flat ({rising['A'][0].reason})",
            evidence,
        )
    if cause is not None:
        return Check("cause", "fail", f"it rises with: {cause[0]} ({cause[1].reason})", evidence)
    return Check("cause", "pass", "nothing rises on any rung", evidence)
