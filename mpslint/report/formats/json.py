"""The JSON report, with the training plans; its shape is described in `mpslint/report/machine.py`."""

from __future__ import annotations

import json

from mpslint.report.machine import as_json
from mpslint.report.records import Report


def render(report: Report) -> str:
    """Return the report as JSON."""
    return json.dumps(as_json(report.files, report.data), indent=2, ensure_ascii=False) + "\n"
