"""Verify files by their plans, which executes none of their code: as they are written and as fix would rewrite them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mpslint.core.finding import ReadError
from mpslint.estimate.chips import ChipAndMemory
from mpslint.estimate.forecast import Forecast, forecast
from mpslint.estimate.here import with_here
from mpslint.estimate.step import StepWork
from mpslint.rewrite.apply import Fixed
from mpslint.session.runs import check_paths
from mpslint.session.view import ShownFinding
from mpslint.source.files import FoundFile as FoundFile
from mpslint.verify.asked import REWRITTEN, WRITTEN, AskedFiles, read_file_within
from mpslint.verify.calibrations import here_of
from mpslint.verify.estimate import estimate_spec, work_of
from mpslint.verify.from_plan import PlannedRun
from mpslint.verify.outcome import Estimate, Verdict
from mpslint.verify.own_waits import own_waits
from mpslint.verify.platform import machine_of
from mpslint.verify.reading import FileReading, TrainingRun, choose, reading_of, runs_of, spec_of, with_findings
from mpslint.verify.report import VerifyReport
from mpslint.verify.spec import VerifiedMac
from mpslint.verify.verdict import decide
from mpslint.verify.verify import VerifyOptions, verify_specs
from mpslint.verify.work import Progress


@dataclass(frozen=True, slots=True)
class Unplanned:
    """Why a run cannot be read off its plan."""

    why: str


@dataclass(frozen=True, slots=True)
class Estimated:
    """The estimate for one run of a file, and what was assumed for it."""

    path: str
    run: str
    machine: VerifiedMac
    estimate: Estimate
    assumptions: tuple[str, ...] = ()
    forecast: Forecast | None = None
    """How long it takes; None where that was not asked."""


def verify_file(found: FoundFile, asked: AskedFiles, options: VerifyOptions, progress: Progress | None = None) -> VerifyReport:
    """Return the report on the plan of one file; what stands in the way is its one-line problem. Raises UsageError."""
    start = time.monotonic()
    try:
        fixed = read_file_within(found, asked)
        runs = runs_of(fixed.before)
        index = choose(runs, asked.plan, found.path)
    except ReadError as error:
        return VerifyReport(found.path, options.machine, problem=_told(error, found.path), seconds=time.monotonic() - start)
    before = _read(runs[index], WRITTEN, found.path)
    machine, said = machine_of(fixed.before.target)
    options = replace(options, machine=machine)
    after = _rewritten(fixed, index, found.path)
    assumptions = [*said, *(line for one in (before, after) if isinstance(one, PlannedRun) for line in one.assumptions)]
    reading = reading_of(fixed, runs, index, assumptions)
    if isinstance(before, Unplanned) and not isinstance(after, PlannedRun):
        return _unread(found.path, machine, reading, before.why, time.monotonic() - start)
    specs = [one.spec for one in (before, after) if isinstance(one, PlannedRun)]
    report = verify_specs(specs[0], specs[1] if len(specs) > 1 else None, options, progress)
    report = replace(report, subject=found.path, reading=reading, is_planned=True, seconds=time.monotonic() - start)
    return _explained(report, before, after)


def estimate_file(found: FoundFile, asked: AskedFiles, *, macs: Sequence[ChipAndMemory] = (), only_kept: bool = False) -> Estimated:
    """Return what the run of a file needs as it is written, which batch each Mac takes, and how long a step takes on `macs`.

    Raises ReadError saying why not, UsageError.
    """
    return estimate_and_work(found, asked, macs=macs, only_kept=only_kept)[0]


def estimate_and_work(
    found: FoundFile, asked: AskedFiles, *, macs: Sequence[ChipAndMemory] = (), only_kept: bool = False
) -> tuple[Estimated, StepWork | None]:
    """Return the same, with the work of a step where `macs` are given. Raises the same."""
    result = next(check_paths([found.path], replace(asked.session, with_plans=True)))
    if result.checked is None:
        raise ReadError(result.problem)
    runs = runs_of(result.checked)
    run = runs[choose(runs, asked.plan, found.path)]
    machine, said = machine_of(result.checked.target)
    plan = spec_of(run, WRITTEN)
    estimate = estimate_spec(plan.spec, machine, only_kept=only_kept)
    times = work = None
    if macs:
        work = work_of(plan.spec, machine, only_kept=only_kept)
        work = replace(work, waits=work.waits + own_waits(run, plan.spec.accumulation))
        times = forecast(work, estimate.composition.peak, macs, machine.versions())
        here = here_of(work, plan.spec.digest(), str(Path(found.path).resolve()))
        times = with_here(times, work, here, machine.versions()) if here is not None else times
    return Estimated(found.path, run.title, machine, estimate, (*said, *plan.assumptions), times), work


def known_forecast(found: FoundFile, asked: AskedFiles, macs: Sequence[ChipAndMemory]) -> Forecast | None:
    """Return the forecast of a run that `plan --estimate` has worked out before; None where there is none, since it takes minutes."""
    try:
        return estimate_file(found, asked, macs=macs, only_kept=True).forecast
    except ReadError:
        return None


def largest_batch_of(found: FoundFile, asked: AskedFiles) -> tuple[int, int]:
    """Return the largest micro-batch of a file's run, fixed otherwise, that its Mac takes (0: none), and that Mac's memory in GB.

    Raises ReadError saying why that is not known, UsageError.
    """
    fixed = read_file_within(found, asked)
    runs = runs_of(fixed.after)
    machine, _ = machine_of(fixed.after.target)
    spec = spec_of(runs[choose(runs, asked.plan, found.path)], REWRITTEN).spec
    return estimate_spec(spec, machine, (machine.memory_gb,)).fits[0].largest_batch, machine.memory_gb


def _read(run: TrainingRun, name: str, path: str) -> PlannedRun | Unplanned:
    """Return a run to verify, or why it cannot be read off its plan."""
    try:
        return spec_of(run, name)
    except ReadError as error:
        return Unplanned(_told(error, path))


def _told(error: ReadError, path: str) -> str:
    """Return why a file was not run, without its own name in front and with it in what to call."""
    return str(error).removeprefix(f"{path}: ").replace("verify FILE", f"verify {path}")


def _rewritten(fixed: Fixed, index: int, path: str) -> PlannedRun | Unplanned | None:
    """Return the same run of the rewritten file; None where nothing is rewritten."""
    if not fixed.is_changed:
        return None
    runs = runs_of(fixed.after)
    return _read(runs[index], REWRITTEN, path) if index < len(runs) else Unplanned("the rewritten file has no such run")


def _unread(path: str, machine: VerifiedMac, reading: FileReading, why: str, seconds: float) -> VerifyReport:
    """Return the report on a run that no plan describes: what was found is still told."""
    verdict = Verdict(WRITTEN, "not run", why, tuple(with_findings((), reading.findings)))
    return VerifyReport(path, machine, verdicts=(verdict,), problem=why, reading=reading, seconds=seconds)


def _explained(report: VerifyReport, before: PlannedRun | Unplanned, after: PlannedRun | Unplanned | None) -> VerifyReport:
    """Return the report with the findings that predicted its checks, and a verdict for a run that could not be read."""
    assert report.reading is not None
    findings: dict[str, tuple[ShownFinding, ...]] = {WRITTEN: report.reading.findings, REWRITTEN: report.reading.left}
    verdicts = [decide(one.name, with_findings(one.checks, findings.get(one.name, ()))) for one in report.verdicts]
    for name, one in ((WRITTEN, before), (REWRITTEN, after)):
        if isinstance(one, Unplanned):
            checks = with_findings((), findings[name])
            verdict = decide(name, checks) if checks else Verdict(name, "not run", one.why)
            verdicts.insert(0 if name == WRITTEN else len(verdicts), replace(verdict, reason=one.why))
    return replace(report, verdicts=tuple(verdicts))
