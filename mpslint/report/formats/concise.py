"""One line a finding, as `--quiet` prints it."""

from __future__ import annotations

from dataclasses import replace

from mpslint.report.formats import text
from mpslint.report.records import CheckReport


def render(report: CheckReport) -> str:
    """Return a line for each finding, and the summary."""
    return text.render(replace(report, quiet=True))
