"""Where a report goes: to the terminal, to a file, and inside GitHub Actions also to the pull request."""

from __future__ import annotations

import os
import sys

from mpslint.report.formats import render
from mpslint.report.records import Report
from mpslint.report.terminal import terminal
from mpslint.report.text import print_report

TEXT = "text"


def show(report: Report, output_format: str | None, output: str | None) -> None:
    """Write a report where it was asked for. Raises WriteError when the file cannot be written."""
    name = output_format or TEXT
    if output is not None:
        from mpslint.source.writer import write_whole

        write_whole(output, render(name, report).encode("utf-8", "surrogateescape"))
    elif name == TEXT:
        print_report(terminal(), report.files, report.quiet)
    else:
        _print(render(name, report))
    if output_format is None and os.environ.get("GITHUB_ACTIONS") == "true":
        _print(render("github", report))


def _print(text: str) -> None:
    """Print a report as UTF-8, whatever the terminal's encoding: what reads it is a program."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()
