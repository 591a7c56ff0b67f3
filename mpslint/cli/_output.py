"""Where a report goes: to the terminal, to a file, and inside GitHub Actions also to the pull request."""

from __future__ import annotations

import os
import sys

from mpslint.report.formats import render
from mpslint.report.records import Report
from mpslint.report.terminal import terminal
from mpslint.report.text import print_report

TEXT, STANDARD_OUTPUT = "text", "-"


def show(report: Report, output_format: str | None, output: str | None) -> None:
    """Write a report where it was asked for. Raises WriteError when the file cannot be written."""
    name = output_format or TEXT
    if output not in (None, STANDARD_OUTPUT):
        from mpslint.source.writer import write_whole

        write_whole(output, encoded(render(name, report)))
    elif name == TEXT:
        print_report(terminal(), report.files, report.quiet, report.paths)
    else:
        _print(render(name, report))
    if output_format is None and os.environ.get("GITHUB_ACTIONS") == "true":
        _print(render("github", report))


def _print(text: str) -> None:
    """Print a report as UTF-8, whatever the terminal's encoding: what reads it is a program."""
    sys.stdout.flush()
    sys.stdout.buffer.write(encoded(text))
    sys.stdout.buffer.flush()


def encoded(text: str) -> bytes:
    """Return a report as UTF-8; what has no place there (half a pair, a byte of a file's name) becomes `\\udcff`, as JSON writes it too."""
    return text.encode("utf-8", "backslashreplace")
