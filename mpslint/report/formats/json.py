"""The JSON report, with the training plans; its shape is described in `mpslint/report/machine.py`."""

from __future__ import annotations

from mpslint.report.machine import report_text
from mpslint.report.records import CheckReport


def render(report: CheckReport) -> str:
    """Return the report as JSON."""
    return report_text(report.files)
