"""`mpslint diagnose`: from an error text to the cause."""

from __future__ import annotations

import functools
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mpslint.cli._options import format_option, target_of, version_options
from mpslint.cli._say import say, standard_input
from mpslint.core.finding import ReadError, UsageError
from mpslint.core.inert import json_text
from mpslint.core.versions import parse_version
from mpslint.diagnose.diagnosis import Diagnosis, Explained
from mpslint.diagnose.joining import Source
from mpslint.diagnose.log import Log

if TYPE_CHECKING:
    from mpslint.session.session import Options
    from mpslint.source.files import FoundFile

_EXIT_CODES = {Explained.EXPLAINED: 0, Explained.UNCERTAIN: 1, Explained.UNKNOWN: 1}


@click.command(name="diagnose", short_help="Explain an MPS error text or log.")
@click.argument("file", required=False, type=click.Path(path_type=Path, allow_dash=True), metavar="[FILE|-]")
@click.option("-m", "--message", help="Diagnose this text in place of a file.")
@format_option("text", "json", "markdown", help="How to print the diagnosis.")
@click.option(
    "--source", "sources", multiple=True, metavar="FILE", help="A script or notebook that ran: its findings are joined. Repeatable."
)
@version_options
def command(file: Path | None, message: str | None, output_format: str, sources: tuple[str, ...], **values: str | None) -> None:
    """Say what an error text means on MPS, what it does not mean, and what to change.

    FILE is a log, a pasted traceback, a step-by-step memory log, or a notebook whose stored outputs are read; - is
    standard input. What `mpslint check` says of the code is joined: the findings that explain the error, and the command that mends
    them. The code is what --source names, a notebook itself, the files of the current folder that the traceback names, or, where it names
    none, all of a project of up to 60 files. Versions are those of the log, of options and of that project.

    \b
    Examples:
      mpslint diagnose train.log
      mpslint diagnose train.ipynb
      mpslint diagnose error.log --source train.py
      mpslint diagnose error.log --torch 2.5.1
      python train.py 2>&1 | tee train.log | mpslint diagnose -
      mpslint diagnose --message "Placeholder storage has not been allocated on MPS device!"
      mpslint diagnose memory.csv --format json

    \b
    Exit codes: 0 explained, 1 known but nothing certain (or not known), 2 usage, 3 unreadable.
    """
    from mpslint.diagnose import diagnose
    from mpslint.diagnose.joining import observed_versions, pinned
    from mpslint.session.session import Options
    from mpslint.session.targeting import base_target

    log, asked = _log(file, message), target_of(values)
    given = {name: version for name, text in asked.items() if (version := parse_version(text))}
    told = diagnose(log, given)
    files = _files(told, file, sources)
    pins = pinned(base_target(files[0].path)) if files else {}
    diagnosis = diagnose(log, {**pins, **given}) if pins else told
    joined = _joined(diagnosis, files, Options(target=asked, observed=observed_versions(told, pins)), sources)
    _show(diagnosis, joined, output_format, len(files))
    sys.exit(0 if any(one.settles(diagnosis) for one in joined) else _EXIT_CODES[diagnosis.outcome])


def _files(diagnosis: Diagnosis, file: Path | None, sources: tuple[str, ...]) -> list[FoundFile]:
    """Return the sources that are named, a notebook that is its own source, or what the diagnosis stands in."""
    from mpslint.diagnose.joining import files_here
    from mpslint.source.files import find_files

    own = [str(file)] if file is not None and file.suffix.lower() == ".ipynb" else files_here(diagnosis)
    return list(find_files(sources or own)) if sources or own else []


def _joined(diagnosis: Diagnosis, files: list[FoundFile], options: Options, sources: tuple[str, ...]) -> list[Source]:
    """Return what check says of files, and of the runs around them, that explains the diagnosis.

    Raises ReadError for a named source that can't be read.
    """
    from mpslint.diagnose.joining import join
    from mpslint.session.running import each_taken

    joined = each_taken(files, options, functools.partial(join, diagnosis))
    for source in joined:
        if source.problem and source.path in sources:
            raise ReadError(source.problem)
    return [source for source in joined if not source.problem and (source.explaining or source.path in sources or len(joined) == 1)]


def _log(file: Path | None, message: str | None) -> Log:
    """Read what the command line names. Raises UsageError, ReadError."""
    from mpslint.diagnose import log_of_bytes, read_log

    if message is not None and file is not None:
        raise UsageError("give FILE or --message, not both")
    if message is not None:
        return log_of_bytes(message.encode(), "<message>")
    if file is not None and str(file) != "-":
        return read_log(file)
    if file is None and sys.stdin is not None and sys.stdin.isatty():
        raise UsageError("give a FILE, - for standard input, or --message TEXT (see mpslint diagnose --help)")
    return log_of_bytes(standard_input(), "<stdin>")


def _show(diagnosis: Diagnosis, sources: list[Source], form: str, checked: int) -> None:
    """Print a diagnosis with what explains it in the files that were `checked`."""
    if form == "json":
        from mpslint.report.diagnosis_json import diagnosis_json

        click.echo(json_text({**diagnosis_json(diagnosis), "sources": [asdict(source) for source in sources]}))
    elif form == "markdown":
        from mpslint.report.diagnosis import markdown, sources_markdown

        click.echo(markdown(diagnosis) + sources_markdown(sources), nl=False)
    else:
        from mpslint.report.console import console
        from mpslint.report.diagnosis import print_diagnosis, print_sources, search
        from mpslint.report.terminal import terminal
        from mpslint.report.text import counted

        print_diagnosis(diagnosis, console())
        print_sources(terminal(), sources)
        if search(diagnosis) and not sources:
            nothing = f"mpslint check finds nothing that would explain it in {counted(checked, 'file')} here."
            say(nothing if checked else f"Where it is in your code: {search(diagnosis)}")
