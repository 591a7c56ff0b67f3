"""A report as the body of an issue: Markdown, with paths, names and tokens taken out."""

from __future__ import annotations

from collections.abc import Iterator

from mpslint import __version__
from mpslint.core.inert import inert_lines
from mpslint.diagnose.issue_report import IssueReport, RunMemory
from mpslint.diagnose.scrubbing import scrub
from mpslint.diagnose.sizes import format_bytes
from mpslint.report.diagnosis import markdown
from mpslint.report.doctor import machine_rows, problem_line, torch_rows


def issue_body(report: IssueReport) -> str:
    """Return the body of an issue."""
    return inert_lines(scrub("\n".join(_lines(report)).strip() + "\n", report.names, report.home))


def _lines(report: IssueReport) -> Iterator[str]:
    yield "## What happened\n"
    yield "<!-- What you ran, what you expected, and whether it happens every time. -->\n"
    if report.diagnosis is not None:
        yield "## Diagnosis\n"
        yield markdown(report.diagnosis)
    if report.tail:
        yield f"## End of the log\n\n```\n{_fenced(report.tail)}\n```\n"
    for one in report.mistakes:
        yield f"## A mistake in mpslint\n\n```\n{_fenced(one)}\n```\n"
    yield from _environment(report)
    if report.findings:
        yield "## Findings\n"
        for place, finding in report.findings:
            yield f"- {place}: {finding.severity.value} {finding.rule} {finding.name}: {finding.message}"
        yield ""
    if report.settings:
        yield "## Settings\n"
        yield "| run | setting | value | where |\n|---|---|---|---|"
        yield from (f"| {' | '.join(map(_cell, row))} |" for row in report.settings)
        yield ""
    if report.runs:
        yield "## Memory in the last verify\n"
        yield from _memory_table(report.runs)


def _environment(report: IssueReport) -> Iterator[str]:
    examination = report.examination
    yield "## Environment\n"
    yield "| what | value |\n|---|---|"
    rows = [
        ("mpslint", __version__),
        *machine_rows(examination.machine),
        ("python", examination.python),
        *examination.packages.items(),
        *torch_rows(examination.torch),
        *examination.variables.items(),
        *((f"accelerate: {key}", str(value)) for key, value in (examination.config.settings if examination.config else {}).items()),
    ]
    for name, value in rows:
        yield f"| {_cell(name)} | {_cell(value)} |"
    yield ""
    if examination.problems:
        yield "Known about this environment:\n"
        yield from (f"- {problem.severity.value}: {problem_line(problem)}" for problem in examination.problems)
        yield ""


def _memory_table(runs: tuple[RunMemory, ...]) -> Iterator[str]:
    yield "| run | backend | steps | live, first to last | driver | peak |\n|---|---|---|---|---|---|"
    for run in runs:
        cells = (run.name, run.backend, str(run.steps), " to ".join(map(_amount, run.live)), run.driver, _amount(run.peak))
        yield f"| {' | '.join(map(_cell, cells))} |"


def _amount(amount: int) -> str:
    return format_bytes(amount) if amount >= 0 else "?"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _fenced(text: str) -> str:
    return text.replace("```", "'''")
