"""Verify files: the run that a file means, as it is written and as fix would rewrite it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mpslint.core.finding import MpslintError, ReadError
from mpslint.estimate.chips import ChipAndMemory
from mpslint.estimate.forecast import Forecast, forecast
from mpslint.estimate.here import with_here
from mpslint.estimate.step import StepWork
from mpslint.rewrite.apply import Fixed
from mpslint.session.fixing import fix_unit
from mpslint.session.runs import check_paths, files_of_runs, graph_of, units_of
from mpslint.session.session import Options as Session
from mpslint.session.session import configuration_for, files_of, fix_file, open_document, read_bytes
from mpslint.session.targeting import target_for
from mpslint.session.view import ShownFinding
from mpslint.source.files import FoundFile as FoundFile
from mpslint.verify.calibrations import here_of
from mpslint.verify.estimate import estimate_spec, largest_batch
from mpslint.verify.from_plan import PlannedRun, machine_of
from mpslint.verify.matrix import run_matrix
from mpslint.verify.outcome import Estimate, Verdict
from mpslint.verify.own_code import REWRITTEN, WRITTEN, OwnCode, verify_own_code
from mpslint.verify.own_waits import own_waits
from mpslint.verify.plan_source import NeedsCodeError
from mpslint.verify.reading import FileReading, TrainingRun, choose, findings_in, reading_of, runs_of, spec_of, with_findings
from mpslint.verify.report import VerifyReport
from mpslint.verify.spec import VerifiedMac
from mpslint.verify.step_work import work_of
from mpslint.verify.verdict import decide
from mpslint.verify.verify import VerifyOptions, verify_specs
from mpslint.verify.work import Progress


@dataclass(frozen=True, slots=True)
class AskedFiles:
    """What the command line asks for about files: which, for what Mac, which of their runs, and how much may be rewritten."""

    paths: tuple[str, ...] = ()
    session: Session = field(default_factory=Session)
    plan: int | None = None
    unsafe: bool = False
    matrix: bool = False


@dataclass(frozen=True, slots=True)
class Unplanned:
    """Why a run cannot be read off its plan; `short` is set where its own code can be run instead."""

    why: str
    short: str = ""

    @property
    def needs_code(self) -> bool:
        """Whether running the code itself shows what the plan doesn't."""
        return bool(self.short)


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


def files(asked: AskedFiles) -> list[FoundFile]:
    """Return the files that are meant. Raises UsageError for a configuration that is wrong."""
    return list(files_of(asked.paths, asked.session))


def machine_for(path: Path, session: Session) -> tuple[VerifiedMac, tuple[str, ...]]:
    """Return the Mac that a script is verified for, and what had to be assumed of it. Raises ReadError, UsageError."""
    found = FoundFile(str(path))
    document = open_document(found, read_bytes(found, session), session)
    machine, said = machine_of(target_for(document, configuration_for(found.path, session), session.target))
    return machine, tuple(said)


def findings_of(path: Path, asked: AskedFiles) -> tuple[ShownFinding, ...]:
    """Return what check finds in a script and the files of its run; nothing where it can't be read. Raises UsageError."""
    checked = next(check_paths([str(path)], replace(asked.session, with_plans=True))).checked
    return tuple(findings_in(checked.document, checked.findings)) if checked is not None else ()


def read_file_within(found: FoundFile, asked: AskedFiles) -> Fixed:
    """Return a file as it is and as fix would rewrite it, each within its run, whose other files are rewritten with it.

    Raises ReadError, FixError, UsageError.
    """
    return read_files_within(found, asked)[found.path]


def read_files_within(found: FoundFile, asked: AskedFiles) -> dict[str, Fixed]:
    """Return the same of each file that is rewritten together with a file, by path. Raises the same, for that file."""
    session = replace(asked.session, with_plans=True)
    of_run = files_of_runs([replace(found, is_named=True)], session)
    units = units_of(graph_of(of_run, session), list(enumerate(of_run)))
    own = next(unit for unit in units if unit.files[0][0] == 0)
    outcomes = dict(fix_unit(own, session, asked.unsafe))
    outcome = outcomes[0]
    if isinstance(outcome, MpslintError):
        raise outcome
    return {of_run[index].path: one for index, one in outcomes.items() if not isinstance(one, MpslintError)}


def verify_file(
    found: FoundFile, asked: AskedFiles, options: VerifyOptions, progress: Progress | None = None, own: OwnCode | None = None
) -> VerifyReport:
    """Return the report on one file; what stands in the way is its one-line problem. Raises UsageError.

    Where no plan describes the run, the file's own code is run in its place, if `own` may do that.
    """
    start = time.monotonic()
    try:
        rewritten = read_files_within(found, asked)
        fixed = rewritten[found.path]
        runs = runs_of(fixed.before)
        index, before = _chosen(runs, asked.plan, found.path)
    except ReadError as error:
        return VerifyReport(found.path, options.machine, problem=_told(error, found.path), seconds=time.monotonic() - start)
    machine, said = machine_of(fixed.before.target)
    options = replace(options, machine=machine)
    if isinstance(before, Unplanned) and before.needs_code and own is not None and own.may_run(found.path):
        reading = reading_of(fixed, runs, index, [*said, f"{before.short}: its own code was run, cut short"])
        report = verify_own_code(found.path, reading, own.on(machine, rewritten), progress)
        return replace(report, seconds=time.monotonic() - start)
    if not runs:
        return VerifyReport(
            found.path, machine, problem=before.why if isinstance(before, Unplanned) else "", seconds=time.monotonic() - start
        )
    after = _rewritten(fixed, index, found.path)
    assumptions = [*said, *(line for one in (before, after) if isinstance(one, PlannedRun) for line in one.assumptions)]
    reading = reading_of(fixed, runs, index, assumptions)
    if isinstance(before, Unplanned) and not isinstance(after, PlannedRun):
        return _unread(found.path, machine, reading, before.why, time.monotonic() - start)
    report = _run(before, after, options, progress, matrix=asked.matrix)
    if any(run.has_own_lengths for run in report.runs):
        unread = {line for one in (before, after) if isinstance(one, PlannedRun) for line in one.unread}
        reading = replace(reading, assumptions=tuple(line for line in reading.assumptions if line not in unread))
    report = replace(report, subject=found.path, reading=reading, is_planned=True, seconds=time.monotonic() - start)
    return report if asked.matrix else _explained(report, before, after)


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
    return largest_batch(spec, machine), machine.memory_gb


def _chosen(runs: Sequence[TrainingRun], number: int | None, path: str) -> tuple[int, PlannedRun | Unplanned]:
    """Return which run of a file is meant, and that run to verify. Raises UsageError."""
    try:
        index = choose(runs, number, path)
    except NeedsCodeError as error:
        return 0, Unplanned(_told(error, path), error.why.removeprefix(f"{path}: "))
    return index, _read(runs[index], WRITTEN, path)


def _read(run: TrainingRun, name: str, path: str) -> PlannedRun | Unplanned:
    """Return a run to verify, or why it cannot be read off its plan."""
    try:
        return spec_of(run, name)
    except ReadError as error:
        return Unplanned(_told(error, path), error.why if isinstance(error, NeedsCodeError) else "")


def _told(error: ReadError, path: str) -> str:
    """Return why a file was not run, without its own name in front and with it in what to call."""
    return str(error).removeprefix(f"{path}: ").replace("--script FILE", f"--script {path}")


def _rewritten(fixed: Fixed, index: int, path: str) -> PlannedRun | Unplanned | None:
    """Return the same run of the rewritten file; None where nothing is rewritten."""
    if not fixed.is_changed:
        return None
    runs = runs_of(fixed.after)
    return _read(runs[index], REWRITTEN, path) if index < len(runs) else Unplanned("the rewritten file has no such run")


def _run(
    before: PlannedRun | Unplanned, after: PlannedRun | Unplanned | None, options: VerifyOptions, progress: Progress | None, *, matrix: bool
) -> VerifyReport:
    specs = [one.spec for one in (before, after) if isinstance(one, PlannedRun)]
    if matrix:
        return run_matrix(specs[0], options, progress)
    return verify_specs(specs[0], specs[1] if len(specs) > 1 else None, options, progress)


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


def has_run(found: FoundFile, asked: AskedFiles) -> bool:
    """Return whether a file holds a training run at all; one that cannot be read does, so that it is reported."""
    try:
        return bool(runs_of(fix_file(found, asked.session, unsafe=False).before))
    except MpslintError:
        return True
