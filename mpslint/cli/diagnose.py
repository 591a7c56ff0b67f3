"""`mpslint diagnose`: from an error text to the cause."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from mpslint.cli._say import say, standard_input
from mpslint.core.finding import ReadError, UsageError
from mpslint.core.inert import inert_json
from mpslint.diagnose.diagnosis import Diagnosis, Explained
from mpslint.diagnose.joining import Source

_EXIT_CODES = {Explained.EXPLAINED: 0, Explained.UNCERTAIN: 1, Explained.UNKNOWN: 1}


@click.command(name="diagnose", short_help="Explain an MPS error text or log.")
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
@click.option(
    "--source", "sources", multiple=True, metavar="FILE", help="A script or notebook that ran: its findings are joined. Repeatable."
)
def command(file: Path | None, message: str | None, form: str, sources: tuple[str, ...]) -> None:
    """Say what an error text means on MPS, what it does not mean, and what to change.

    FILE is a log, a pasted traceback, a step-by-step memory log, or a notebook whose stored outputs are read; - is
    standard input. With --source, or for a notebook, what `mpslint check` says of the code is joined: the findings that explain the
    error, and the command that mends them.

    \b
    Examples:
      mpslint diagnose train.log
      mpslint diagnose train.ipynb
      mpslint diagnose error.log --source train.py
      python train.py 2>&1 | tee train.log | mpslint diagnose -
      mpslint diagnose --message "Placeholder storage has not been allocated on MPS device!"
      mpslint diagnose memory.csv --format json

    \b
    Exit codes: 0 explained, 1 known but nothing certain (or not known), 2 usage, 3 unreadable.
    """
    diagnosis = _diagnosis(file, message)
    _show(diagnosis, _joined(diagnosis, file, sources), form)
    sys.exit(_EXIT_CODES[diagnosis.outcome])


def _joined(diagnosis: Diagnosis, file: Path | None, sources: tuple[str, ...]) -> list[Source]:
    """Check the sources that are named, and a notebook that is its own source. Raises ReadError for one that cannot be read."""
    from mpslint.diagnose.joining import join, observed_versions
    from mpslint.session.session import Options, check_file
    from mpslint.source.files import find_files

    own = [str(file)] if file is not None and file.suffix.lower() == ".ipynb" and not sources else []
    options = Options(observed=observed_versions(diagnosis))
    joined = [join(diagnosis, check_file(found, options)) for found in find_files([*sources, *own])]
    for source in joined:
        if source.problem and source.path in sources:
            raise ReadError(source.problem)
    return [source for source in joined if not source.problem]


def _diagnosis(file: Path | None, message: str | None) -> Diagnosis:
    """Read what the command line names and diagnose it."""
    from mpslint.diagnose import diagnose, log_of_bytes, read_log

    if message is not None and file is not None:
        raise UsageError("give FILE or --message, not both")
    if message is not None:
        return diagnose(log_of_bytes(message.encode(), "<message>"))
    if file is not None and str(file) != "-":
        return diagnose(read_log(file))
    if file is None and sys.stdin is not None and sys.stdin.isatty():
        raise UsageError("give a FILE, - for standard input, or --message TEXT (see mpslint diagnose --help)")
    return diagnose(log_of_bytes(standard_input(), "<stdin>"))


def _show(diagnosis: Diagnosis, sources: list[Source], form: str) -> None:
    if form == "json":
        from mpslint.report.diagnosis_json import diagnosis_json
        from mpslint.report.joined import sources_json

        data = {**diagnosis_json(diagnosis), "sources": sources_json(sources)}
        click.echo(inert_json(json.dumps(data, indent=2, ensure_ascii=False)))
    elif form == "markdown":
        from mpslint.report.diagnosis import markdown
        from mpslint.report.joined import sources_markdown

        click.echo(markdown(diagnosis) + sources_markdown(sources), nl=False)
    else:
        from mpslint.report.console import console
        from mpslint.report.diagnosis import print_diagnosis
        from mpslint.report.diagnosis_words import search
        from mpslint.report.joined import print_sources
        from mpslint.report.terminal import terminal

        print_diagnosis(diagnosis, console())
        print_sources(terminal(), sources)
        if search(diagnosis) and not sources:
            say(f"Where it is in your code: {search(diagnosis)}")
