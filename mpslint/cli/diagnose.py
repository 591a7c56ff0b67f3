"""`mpslint diagnose`: from an error text to the cause."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from mpslint.diagnose.diagnosis import Diagnosis, Outcome
from mpslint.finding import UsageError

_EXIT_CODES = {Outcome.EXPLAINED: 0, Outcome.UNCERTAIN: 1, Outcome.UNKNOWN: 1}


@click.command(name="diagnose")
@click.argument("file", required=False, type=click.Path(path_type=Path, allow_dash=True), metavar="[FILE|-]")
@click.option("-m", "--message", help="Diagnose this text in place of a file.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="How to print the diagnosis.",
)
def command(file: Path | None, message: str | None, form: str) -> None:
    """Say what an error text means on MPS, what it does not mean, and what to change.

    FILE is a log, a pasted traceback, a step-by-step memory log, or a notebook whose stored outputs are read; - is
    standard input.

    \b
    Examples:
      mpslint diagnose train.log
      mpslint diagnose train.ipynb
      python train.py 2>&1 | tee train.log | mpslint diagnose -
      mpslint diagnose --message "Placeholder storage has not been allocated on MPS device!"
      mpslint diagnose memory.csv --format json

    \b
    Exit codes: 0 explained, 1 known but nothing certain (or not known), 2 usage, 3 unreadable.
    """
    diagnosis = _diagnosis(file, message)
    _show(diagnosis, form)
    sys.exit(_EXIT_CODES[diagnosis.outcome])


def _diagnosis(file: Path | None, message: str | None) -> Diagnosis:
    """Read what the command line names and diagnose it."""
    from mpslint.diagnose import diagnose, log_of_bytes, read_log

    if message is not None and file is not None:
        raise UsageError("give FILE or --message, not both")
    if message is not None:
        return diagnose(log_of_bytes(message.encode(), "<message>"))
    if file is not None and str(file) != "-":
        return diagnose(read_log(file))
    if file is None and sys.stdin.isatty():
        raise UsageError("give a FILE, - for standard input, or --message TEXT (see mpslint diagnose --help)")
    return diagnose(log_of_bytes(sys.stdin.buffer.read(), "<stdin>"))


def _show(diagnosis: Diagnosis, form: str) -> None:
    if form == "json":
        from mpslint.report.diagnosis_json import diagnosis_json

        click.echo(json.dumps(diagnosis_json(diagnosis), indent=2, ensure_ascii=False))
    elif form == "markdown":
        from mpslint.report.diagnosis import markdown

        click.echo(markdown(diagnosis), nl=False)
    else:
        from mpslint.report.console import console
        from mpslint.report.diagnosis import print_diagnosis

        print_diagnosis(diagnosis, console())
