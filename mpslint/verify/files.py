"""Verify files by their plans, which executes none of their code: as they are written and as fix would rewrite them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mpslint.core.finding import ReadError
from mpslint.core.knowledge import platform_data
from mpslint.estimate.calibration import with_here
from mpslint.estimate.forecast import Forecast, forecast
from mpslint.estimate.step import StepWork
from mpslint.estimate.timing import ChipAndMemory
from mpslint.facts.values import Context
from mpslint.rewrite.apply import Fixed
from mpslint.session.view import ShownFinding
from mpslint.source.files import FoundFile as FoundFile
from mpslint.verify.cache import KnownEstimate, keep_estimate, known_estimate
from mpslint.verify.calibrations import here_of
from mpslint.verify.estimate import estimate_spec, work_of
from mpslint.verify.from_plan import PlannedRun, PlanSource, TrainingRun, spec_of
from mpslint.verify.outcome import Estimate, Verdict
from mpslint.verify.platform import machine_of
from mpslint.verify.process import at_once
from mpslint.verify.reading import choose, reading_of, runs_of, with_findings
from mpslint.verify.report import VerifyReport
from mpslint.verify.script import ScriptOptions
from mpslint.verify.spec import VerifiedMac
from mpslint.verify.start import REWRITTEN, WRITTEN, AskedFiles, read_file_within
from mpslint.verify.text import fit_on, what_fits
from mpslint.verify.verdict import decide
from mpslint.verify.verify import verify_specs
from mpslint.verify.work import Progress


@dataclass(frozen=True, slots=True)
class Estimated:
    """The estimate for one run of a file."""

    path: str
    known: KnownEstimate
    forecast: Forecast | None = None
    """How long it takes; None where that was not asked."""


def verify_file(found: FoundFile, asked: AskedFiles, options: ScriptOptions, progress: Progress | None = None) -> VerifyReport:
    """Return the report on the plan of one file. Raises ReadError saying what stands in the way, UsageError."""
    asked, fits = as_it_fits(found, asked)
    fixed = read_file_within(found, asked)
    runs = runs_of(fixed.before)
    index = choose(runs, asked.plan, found.path)
    machine, said = machine_of(fixed.before.target)
    before, after = _read(runs[index], WRITTEN, found.path), _rewritten(fixed, index, found.path)
    planned = [one for one in (before, after) if isinstance(one, PlannedRun)]
    reading = reading_of(fixed, runs, index, [*said, *(line for one in planned for line in one.assumptions)], fits)
    if isinstance(before, str) and not isinstance(after, PlannedRun):  # what was found is still told
        verdict = Verdict(WRITTEN, "not run", before, tuple(with_findings((), reading.findings)))
        return VerifyReport(found.path, machine, verdicts=(verdict,), problem=before, reading=reading)
    specs = [one.spec for one in planned]
    report = verify_specs(specs[0], specs[1] if len(specs) > 1 else None, replace(options, machine=machine), progress)
    findings = {WRITTEN: reading.findings, REWRITTEN: reading.left}
    verdicts = [explained(one, findings[one.name]) for one in report.verdicts]
    for name, one in ((WRITTEN, before), (REWRITTEN, after)):
        if isinstance(one, str):  # a run that could not be read
            checks = with_findings((), findings[name])
            verdict = decide(name, checks) if checks else Verdict(name, "not run", one)
            verdicts.insert(0 if name == WRITTEN else len(verdicts), replace(verdict, reason=one))
    return replace(report, subject=found.path, verdicts=tuple(verdicts), reading=reading, is_planned=True)


def explained(verdict: Verdict, findings: Sequence[ShownFinding]) -> Verdict:
    """Return a verdict with the findings that predicted its checks; what was not run stays so."""
    checks = with_findings(verdict.checks, findings)
    return replace(verdict, checks=tuple(checks)) if verdict.status == "not run" else decide(verdict.name, checks)


def estimate_file(found: FoundFile, asked: AskedFiles, *, macs: Sequence[ChipAndMemory] = ()) -> Estimated:
    """Return what the run of a file needs as it's written and as it's rewritten, which batch each Mac takes, and how long a step takes on
    `macs`: as it was worked out before, else by its plan. Raises ReadError saying why not, UsageError.
    """
    fixed = read_file_within(found, asked)
    machine, said = machine_of(fixed.before.target)
    known = known_estimate(found, asked.session) if _is_usual(asked) else None
    if known is None or (macs and known.work is None):
        known = _by_plan(fixed, asked, machine, said, found.path, with_work=bool(macs))
        keep(found, asked, known)
    times = _times(known.work, known, machine, macs, found.path) if known.work is not None and macs else None
    return Estimated(found.path, known, times)


def _by_plan(fixed: Fixed, asked: AskedFiles, machine: VerifiedMac, said: Sequence[str], path: str, *, with_work: bool) -> KnownEstimate:
    """Return the estimate of a run by its plan. Raises ReadError saying why not, UsageError."""
    runs = runs_of(fixed.before)
    index = choose(runs, asked.plan, path)
    after = _rewritten(fixed, index, path)
    plan = spec_of(runs[index], WRITTEN)
    specs = [plan.spec, *([after.spec] if isinstance(after, PlannedRun) and replace(after.spec, name=WRITTEN) != plan.spec else [])]
    estimates = at_once(lambda spec: estimate_spec(spec, machine), specs)
    work = work_of(plan.spec, machine) if with_work else None
    if work is not None:
        work = replace(work, waits=work.waits + own_waits(runs[index], plan.spec.accumulation))
    return replace(known_of(runs[index].title, estimates, machine, work, (*said, *plan.assumptions)), spec=plan.spec.digest())


def known_of(
    run: str, estimates: Sequence[Estimate], machine: VerifiedMac, work: StepWork | None, assumptions: Sequence[str]
) -> KnownEstimate:
    """Return an estimate as it's kept, with the sentence that all say of it."""
    largest = fit_on(estimates[-1], machine.memory_gb).largest_batch
    is_too_big = fit_on(estimates[0], machine.memory_gb).status == "too big"
    return KnownEstimate(largest, what_fits(estimates, machine), run, tuple(estimates), work, tuple(assumptions), is_too_big)


def keep(found: FoundFile, asked: AskedFiles, known: KnownEstimate) -> None:
    """Keep an estimate of what others ask about, too."""
    if _is_usual(asked):
        keep_estimate(found, asked.session, known)


def _is_usual(asked: AskedFiles) -> bool:
    """Return whether the run and the rewrite are those that a command means which isn't told another."""
    return asked.plan is None and not asked.unsafe


def _times(work: StepWork, known: KnownEstimate, machine: VerifiedMac, macs: Sequence[ChipAndMemory], path: str) -> Forecast:
    """Return how long the run of a file takes on some Macs."""
    versions = machine.versions()
    times = forecast(work, known.estimates[0].composition.peak, macs, versions)
    here = here_of(work, known.spec, str(Path(path).resolve()))
    return with_here(times, here, versions) if here is not None else times


def as_it_fits(found: FoundFile, asked: AskedFiles) -> tuple[AskedFiles, str]:
    """Return what is asked for with the largest batch that fits, where that was estimated before, and the sentence on it, else ''."""
    known = known_estimate(found, asked.session) if _is_usual(asked) else None
    return (replace(asked, session=replace(asked.session, largest_batch=known.largest)), known.fits) if known is not None else (asked, "")


def batch_of(fixed: Fixed, known: KnownEstimate) -> int:
    """Return the micro-batch of a file's run as it's rewritten: as the code says it, else as it was when it was estimated."""
    runs = runs_of(fixed.after)
    run = runs[choose(runs, None, fixed.after.document.path)]
    return PlanSource(run.plan, run.evidence).count("batch.train", known.estimates[-1].batch)


def _read(run: TrainingRun, name: str, path: str) -> PlannedRun | str:
    """Return a run to verify, or why it cannot be read off its plan."""
    try:
        return spec_of(run, name)
    except ReadError as error:
        return told(error, path)


def told(error: ReadError, path: str) -> str:
    """Return why a file was not run, without its own name in front and with it in what to call."""
    return str(error).removeprefix(f"{path}: ").replace("verify FILE", f"verify {path}")


def _rewritten(fixed: Fixed, index: int, path: str) -> PlannedRun | str | None:
    """Return the same run of the rewritten file; None where nothing is rewritten."""
    if not fixed.is_changed:
        return None
    runs = runs_of(fixed.after)
    return _read(runs[index], REWRITTEN, path) if index < len(runs) else "the rewritten file has no such run"


def own_waits(run: TrainingRun, accumulation: int) -> float:
    """Return the waits of an optimizer step: those written beside `backward()` in the loop, or in a method that a Trainer calls each batch.

    What stands under a test of its own (`if step % 100 == 0`) is done now and then, and not counted.
    """
    table = platform_data("step_time")["written"]
    calls = run.evidence.facts.calls
    steps = {_place(call.context) for call in calls if call.method in table["steps"] and call.context.all_loops}
    found: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for call in calls:
        place = _place(call.context)
        if call.method in table["waits"] and (place in steps or _is_called_each_batch(call.context, table["methods"])):
            found[place].add(id(call.node))
    return float(max(map(len, found.values()), default=0) * accumulation)  # two loops of a file are two runs


def _is_called_each_batch(context: Context, methods: Sequence[str]) -> bool:
    names = [getattr(function, "name", "") for function in context.functions[-1:]]
    return any(name in methods for name in names) and not context.loops and not context.guards


def _place(context: Context) -> tuple[int, ...]:
    """Return what a statement stands in: calls of functions, loops, and tests."""
    return tuple(map(id, (*context.functions, *context.loops, *(guard.test for guard in context.guards))))
