"""`--baseline`, `--write-baseline` and `--add-ignore`: leave known findings out, write them down, and silence them by comments, so that
only new findings are reported from now on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from mpslint.cli._output import encoded, said_lost
from mpslint.cli._say import complain, say
from mpslint.core.finding import Finding, MpslintError, Severity, UsageError
from mpslint.report.records import CheckReport
from mpslint.report.text import counted, print_problems
from mpslint.rewrite.ignores import Ignored
from mpslint.session.baseline import baseline_text, compare, load_baseline
from mpslint.session.session import Options, add_ignores_to
from mpslint.source.files import STANDARD_INPUT, FoundFile
from mpslint.source.writer import FileChange, write_files, write_whole


def write(path: Path, report: CheckReport) -> None:
    """Write every finding of a report into a baseline file."""
    write_whole(str(path), encoded(baseline_text(path, report.files)))
    number = sum(len(file.findings) for file in report.files)
    touched = sum(1 for file in report.files if file.findings)
    say(f"Wrote {counted(number, 'finding')} in {counted(touched, 'file')} to {path}.")
    print_problems(report.files)


def without_known(path: Path, report: CheckReport, options: Options) -> CheckReport:
    """Return a report without the findings that a baseline holds, and say, on standard error, what the baseline did."""
    compared = compare(path, load_baseline(path), report.files, options)
    if compared.known:
        complain(f"{counted(compared.known, 'finding')} left out: in the baseline {path}")
    if compared.gone:
        per_file = Counter(entry.path for entry in compared.gone)
        named = ", ".join(f"{name} ({number})" for name, number in sorted(per_file.items())[:5])
        more = ", ..." if len(per_file) > 5 else ""
        number = len(compared.gone)
        entries = "1 entry of the baseline no longer occurs" if number == 1 else f"{number} entries of the baseline no longer occur"
        complain(f"{entries}: {named}{more}; --write-baseline {path} writes it anew")
    return replace(report, files=compared.files)


def add_ignores(files: Sequence[FoundFile], options: Options, reason: str) -> int:
    """Write the comments and say what was done; return the exit code."""
    if any(found.path == STANDARD_INPUT for found in files):
        raise UsageError("--add-ignore writes files; name one")
    if len(reason.splitlines()) > 1:
        raise UsageError("--add-ignore: the reason is one line")
    code = done = 0
    for found in files:
        try:
            ignored = add_ignores_to(found, options, reason)
            if ignored.data != ignored.original:
                (lost,) = write_files([FileChange(found.path, ignored.original, ignored.data, found.top)])
                said_lost(found.path, lost)
        except MpslintError as error:
            complain(f"mpslint: {error}")
            code = 3
            continue
        done += len(ignored.silenced)
        if ignored.silenced:
            say(f"{found.path}: {counted(len(ignored.silenced), 'finding')} ignored")
        for finding in ignored.left:
            say(_left(ignored, finding))
            code = max(code, 0 if finding.severity is Severity.NOTE else 1)
    click.echo(f"Ignored {counted(done, 'finding')}." if done else "Nothing to ignore.")
    return code


def _left(ignored: Ignored, finding: Finding) -> str:
    place = ignored.document.place(finding.span.start)
    if place.cell is not None:
        where, instead = f"cell {place.cell}:{place.line}", f"tag the cell mpslint-ignore-{finding.rule}"
    else:
        where, instead = str(place.line), "name the file in per-file-ignores"
    return f"{ignored.document.path}:{where}: {finding.rule} cannot be silenced by a comment here; {instead}"
