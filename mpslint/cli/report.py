"""`mpslint report`: the body of an issue, with paths and tokens taken out."""

from __future__ import annotations

import getpass
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mpslint.finding import ReadError

if TYPE_CHECKING:
    from mpslint.diagnose import Diagnosis, Log
    from mpslint.diagnose.issue_report import PlacedFinding

_TAIL_LINES, _TAIL_CHARACTERS = 60, 6_000


@click.command(name="report")
@click.argument("file", required=False, type=click.Path(path_type=Path, allow_dash=True), metavar="[FILE|-]")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to this file in place of standard output.")
@click.option(
    "--source", "sources", multiple=True, metavar="FILE", help="A script or notebook: what check finds in it is added. Repeatable."
)
@click.option("--no-torch", is_flag=True, help="Do not import torch (in a child process) to ask it about MPS.")
def command(file: Path | None, output: Path | None, sources: tuple[str, ...], no_torch: bool) -> None:
    """Print the body of an issue: the diagnosis of FILE, versions, machine, settings, findings, and what the last verify measured.

    FILE is a log, a traceback or a notebook, as for mpslint diagnose; without it the report holds the environment only.
    Names in paths, tokens, mail and network addresses are taken out. Read it before you post it.

    \b
    Examples:
      mpslint report train.log
      mpslint report train.log --source train.py
      mpslint report train.ipynb -o issue.md
      mpslint report

    \b
    Exit codes: 0 printed, 2 usage, 3 unreadable.
    """
    from mpslint.diagnose.diagnosis import Outcome
    from mpslint.diagnose.issue_report import IssueReport
    from mpslint.doctor import examine
    from mpslint.report.issue import issue_body
    from mpslint.verify.last import last_runs

    log, diagnosis = _diagnosed(file)
    unknown = diagnosis is not None and (diagnosis.outcome is Outcome.UNKNOWN or bool(diagnosis.unknown))
    body = issue_body(
        IssueReport(
            examination=examine(ask_torch=not no_torch),
            diagnosis=diagnosis,
            findings=_findings(diagnosis, file, sources),
            runs=last_runs(),
            tail=_tail(log.text) if log is not None and unknown else "",
            names=_names(),
        )
    )
    _write(body, output)


def _diagnosed(file: Path | None) -> tuple[Log | None, Diagnosis | None]:
    """Return the log that the command line names and its diagnosis, or nothing when it names none."""
    from mpslint.diagnose import diagnose, log_of_bytes, read_log

    if file is None:
        return None, None
    log = log_of_bytes(sys.stdin.buffer.read(), "<stdin>") if str(file) == "-" else read_log(file)
    return log, diagnose(log)


def _findings(diagnosis: Diagnosis | None, file: Path | None, sources: tuple[str, ...]) -> tuple[PlacedFinding, ...]:
    """Return what check finds in the sources that are named, and in a notebook that is its own source."""
    from mpslint.diagnose.issue_report import PlacedFinding
    from mpslint.diagnose.joining import observed_versions
    from mpslint.session import Options, check_file
    from mpslint.source.files import find_files

    own = [str(file)] if file is not None and file.suffix.lower() == ".ipynb" and not sources else []
    options = Options(observed=observed_versions(diagnosis) if diagnosis is not None else {})
    placed = []
    for found in find_files([*sources, *own]):
        result = check_file(found, options)
        if result.checked is None:
            if result.path in sources:
                raise ReadError(result.problem)
            continue
        document = result.checked.document
        for finding in result.findings:
            place = document.place(finding.span.start)
            where = f"cell {place.cell}, line {place.line}" if place.cell is not None else f"line {place.line}"
            placed.append(PlacedFinding(f"{Path(document.path).name}, {where}", finding))
    return tuple(placed)


def _tail(text: str) -> str:
    """Return the last lines of a log, without colours."""
    from mpslint.diagnose.compact import strip_escapes

    return strip_escapes("\n".join(text.splitlines()[-_TAIL_LINES:]))[-_TAIL_CHARACTERS:]


def _names() -> tuple[str, ...]:
    """Return the names that say who and where this is."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = ""
    return tuple(name for name in (platform.node(), platform.node().split(".")[0], user) if name)


def _write(body: str, output: Path | None) -> None:
    if output is None:
        click.echo(body, nl=False)
        return
    try:
        output.write_text(body, encoding="utf-8")
    except OSError as error:
        raise ReadError(f"{output}: cannot be written: {error.strerror or error}") from None
