"""Verify a file by its own code: as it is written and as fix rewrites it, both cut short, confined, and on the same rows.

Models, datasets and loops aren't rebuilt from parts. A statement that a rebuilt run leaves out (a default dtype, a layer that is frozen, an
initialisation) would change the verdict, so all of the code runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mpslint.core.finding import ReadError
from mpslint.source.files import FoundFile
from mpslint.verify.assumed import decided_by_lengths, with_other_lengths
from mpslint.verify.cache import KnownEstimate
from mpslint.verify.estimate import estimate_of_code, macs_asked, work_of_code
from mpslint.verify.files import as_it_fits, explained, keep, known_of
from mpslint.verify.from_plan import TrainingRun, spec_of
from mpslint.verify.outcome import Verdict
from mpslint.verify.platform import machine_of
from mpslint.verify.process import at_once
from mpslint.verify.reading import FileReading, choose, reading_of, runs_of
from mpslint.verify.report import VerifyReport
from mpslint.verify.script import ScriptOptions, verify_script
from mpslint.verify.spec import VerifiedMac
from mpslint.verify.start import REWRITTEN, WRITTEN, AskedFiles, Start, read_files_within, start_of
from mpslint.verify.work import Progress


def verify_code(found: FoundFile, asked: AskedFiles, options: ScriptOptions, progress: Progress | None = None) -> VerifyReport:
    """Return the report on one file by its own code. Raises ReadError saying what stands in the way, UsageError."""
    asked, fits = as_it_fits(found, asked)
    rewritten = read_files_within(found, asked)
    fixed = rewritten[found.path]
    runs = runs_of(fixed.before)
    index = choose(runs, None, found.path) if runs else 0
    begun = start_of(fixed.before.document, found.path, runs[index : index + 1], asked.session.started)
    again = start_of(fixed.after.document, found.path, runs[index : index + 1], asked.session.started)
    machine, said = machine_of(fixed.before.target)
    reading = reading_of(fixed, runs, index, said, fits)
    reading = replace(reading, run="; ".join([reading.run, *begun.said]))
    options = replace(options, machine=machine, sizes=() if fits else _asked(runs[index : index + 1], machine))
    changed = {Path(path).absolute(): one.data for path, one in rewritten.items() if one.is_changed}
    done = _both(begun, again, changed, options, progress)
    known = _estimated(done, reading, machine)
    if known is not None:
        keep(found, asked, known)
    findings = {WRITTEN: reading.findings, REWRITTEN: reading.left}
    return VerifyReport(
        found.path,
        options.machine,
        tuple(run for report in done for run in report.runs),
        tuple(explained(verdict, findings[verdict.name]) for report in done for verdict in report.verdicts),
        reading=reading,
        fits=known.fits if known is not None else "",
        problem="" if done[0].runs else done[0].problem,
    )


def _asked(runs: Sequence[TrainingRun], machine: VerifiedMac) -> tuple[int, ...]:
    """Return the Macs, by GB of memory, of which the code itself has to tell what fits: none where the plan of its run does."""
    try:
        planned = [spec_of(run, WRITTEN) for run in runs]
    except ReadError:
        planned = []
    return () if planned else macs_asked(machine)


def _estimated(done: Sequence[VerifyReport], reading: FileReading, machine: VerifiedMac) -> KnownEstimate | None:
    """Return what runs show of the micro-batches that fit; None where one of them doesn't, or what isn't of a step decides."""
    checks = [check for report in done for verdict in report.verdicts for check in verdict.checks]
    if any(check.name in ("live memory", "evaluation") and check.status != "pass" for check in checks):
        return None
    runs = [run for report in done for run in report.runs if run.backend == "emulated"]
    if len(runs) < len(done) or any(not run.fits for run in runs):
        return None
    drawn = ["the lengths of drawn texts are assumed"] if any(run.has_assumed_lengths for run in runs) else []
    estimates = [estimate_of_code(run, machine) for run in runs]
    return known_of(reading.run, estimates, machine, work_of_code(runs[0]), (*reading.assumptions, *drawn))


def _both(
    begun: Start, again: Start, changed: Mapping[Path, bytes], options: ScriptOptions, progress: Progress | None
) -> list[VerifyReport]:
    """Return the report on the code as written and, where that could be run and something is rewritten, as rewritten; both run at once."""
    runs = [(begun, WRITTEN, {}), *([(again, REWRITTEN, changed)] if changed or again != begun else [])]
    done = at_once(lambda one: _run(one[0], one[1], options, one[2], _named(progress, one[1])), runs)
    return done if done[0].runs else done[:1]


def _named(progress: Progress | None, name: str) -> Progress | None:
    """Return a progress that says which of both runs it is about."""
    return progress and (lambda part, data: progress(f"{name}, {part}", data))


def _run(begun: Start, name: str, options: ScriptOptions, changed: Mapping[Path, bytes], progress: Progress | None) -> VerifyReport:
    """Return the report on one run of the code, under its name; one that gave nothing says why in its verdict."""
    own = replace(options, name=name, rewritten=changed, arguments=begun.arguments, environment=begun.environment)
    report = verify_script(begun.script, own, progress)
    if any(decided_by_lengths(run, verdict.checks) for run in report.runs for verdict in report.verdicts):
        report = with_other_lengths(
            report, lambda times: verify_script(begun.script, replace(own, lengths=times, backend="emulated", sizes=()), progress)
        )
    runs = tuple(replace(run, name=name) for run in report.runs)
    return replace(report, runs=runs, verdicts=report.verdicts or (Verdict(name, "not run", report.problem),))
