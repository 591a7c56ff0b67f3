"""The report for people, without colours."""

from __future__ import annotations

import io

from mpslint.report.records import CheckReport
from mpslint.report.terminal import Terminal
from mpslint.report.text import print_report


def render(report: CheckReport) -> str:
    """Return every finding with its source, cause and fix, and the summary."""
    stream = io.StringIO()
    print_report(Terminal(stream), report.files, report.quiet, report.paths, is_unfit=report.is_unfit)
    return stream.getvalue()
