"""Verify a file by its own code, where no plan describes its run: as it is written and as fix rewrites it.

Models, datasets and loops of one's own aren't rebuilt from parts. A statement that a rebuilt run leaves out (a default dtype, a layer that
is frozen, an initialisation) would change the verdict, so all of the code runs, cut short and confined, as `--script` runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mpslint.rewrite.apply import Fixed
from mpslint.session.view import ShownFinding
from mpslint.verify.outcome import Verdict
from mpslint.verify.reading import FileReading, with_findings
from mpslint.verify.report import VerifyReport
from mpslint.verify.script import ScriptOptions, verify_script
from mpslint.verify.spec import VerifiedMac
from mpslint.verify.verdict import decide
from mpslint.verify.work import Progress

WRITTEN, REWRITTEN = "as written", "as rewritten"


@dataclass(frozen=True, slots=True)
class OwnCode:
    """How files are verified by their own code, and whether that is allowed."""

    may_run: Callable[[str], bool]
    """Whether a file's code may be run: its user is asked."""
    options: ScriptOptions

    def on(self, machine: VerifiedMac, files: Mapping[str, Fixed]) -> ScriptOptions:
        """Return the options for a file of this Mac; `files` are those of its run that fix may rewrite."""
        rewritten = {Path(path).absolute(): fixed.data for path, fixed in files.items() if fixed.is_changed}
        return replace(self.options, machine=machine, rewritten=rewritten)


def verify_own_code(path: str, reading: FileReading, options: ScriptOptions, progress: Progress | None) -> VerifyReport:
    """Return the report on a file whose code is run as it is and, where `options` rewrite something, as that."""
    done = [_run(path, WRITTEN, replace(options, rewritten={}), progress)]
    if options.rewritten and done[0].runs:
        done.append(_run(path, REWRITTEN, options, progress))
    findings = {WRITTEN: reading.findings, REWRITTEN: reading.left}
    return VerifyReport(
        path,
        options.machine,
        tuple(run for report in done for run in report.runs),
        tuple(_explained(verdict, findings[verdict.name]) for report in done for verdict in report.verdicts),
        reading=reading,
        problem="" if done[0].runs else done[0].problem,
    )


def _run(path: str, name: str, options: ScriptOptions, progress: Progress | None) -> VerifyReport:
    """Return the report on one run of the code, under its name; one that gave nothing says why in its verdict."""
    report = verify_script(Path(path), replace(options, name=name), progress)
    runs = tuple(replace(run, name=name) for run in report.runs)
    return replace(report, runs=runs, verdicts=report.verdicts or (Verdict(name, "not run", report.problem),))


def _explained(verdict: Verdict, findings: Sequence[ShownFinding]) -> Verdict:
    """Return a verdict with the findings that predicted its checks; what was not run stays so."""
    checks = with_findings(verdict.checks, findings)
    return replace(verdict, checks=tuple(checks)) if verdict.status == "not run" else decide(verdict.name, checks)
