"""`mpslint check --add-ignore`: comments for what is found, so that only new findings are reported from now on."""

from __future__ import annotations

from collections.abc import Sequence

import click

from mpslint.cli._output import said_lost
from mpslint.cli._say import complain, say
from mpslint.core.finding import Finding, MpslintError, Severity, UsageError
from mpslint.report.text import counted
from mpslint.rewrite.ignores import Ignored
from mpslint.session.session import Options, add_ignores_to
from mpslint.source.files import STANDARD_INPUT, FoundFile
from mpslint.source.writer import FileChange, write_files


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
