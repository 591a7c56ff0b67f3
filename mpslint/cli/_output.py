"""Where a report goes: to the terminal, to a file, and inside GitHub Actions also to the pull request."""

from __future__ import annotations

import sys

from mpslint.cli._say import complain
from mpslint.core.inert import is_in_actions
from mpslint.report.records import CheckReport
from mpslint.report.terminal import terminal
from mpslint.report.text import print_report

JSON = ("json", "sarif", "gitlab")
TEXT, STANDARD_OUTPUT = "text", "-"


def show(report: CheckReport, output_format: str | None, output: str | None, statistics: bool = False) -> None:
    """Write a report, or its statistics, where it was asked for. Raises WriteError when the file cannot be written."""
    name = output_format or TEXT
    if statistics:
        from mpslint.report.statistics import print_statistics
        from mpslint.report.statistics import statistics_text as render
    else:
        from mpslint.report.formats import render
    if output not in (None, STANDARD_OUTPUT):
        from mpslint.source.writer import write_whole

        write_whole(output, encoded(render(name, report)))
    elif name == TEXT and statistics:
        print_statistics(terminal(), report.files)
    elif name == TEXT:
        print_report(terminal(), report.files, report.quiet, report.paths, is_unfit=report.is_unfit)
    else:
        _print(without_old_commands(name, render(name, report)))
    if output_format is None and not statistics and is_in_actions():
        _print(render("github", report))


def said_lost(path: str, lost: tuple[str, ...]) -> None:
    """Say what the file system did not take of a file that was written."""
    for line in lost:
        complain(f"mpslint: {path}: written, but {line}")


def without_old_commands(name: str, text: str) -> str:
    """Return a report in which GitHub Actions sees no command of the form `##[error]`, which counts anywhere in a line."""
    if not is_in_actions() or name == "github":
        return text
    return text.replace("##[", "#\\u0023[" if name in JSON else "#\u200b#[")


def _print(text: str) -> None:
    """Print a report as UTF-8, whatever the terminal's encoding: what reads it is a program."""
    sys.stdout.flush()
    sys.stdout.buffer.write(encoded(text))
    sys.stdout.buffer.flush()


def encoded(text: str) -> bytes:
    """Return a report as UTF-8; what has no place there (half a pair, a byte of a file's name) becomes `\\udcff`, as JSON writes it too."""
    return text.encode("utf-8", "backslashreplace")
