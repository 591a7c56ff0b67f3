"""A report as JSON, and its steps as CSV."""

from __future__ import annotations

import csv
import io
import json

from mpslint.verify.report import Report, to_export

COLUMNS = (
    "run", "backend", "step", "what", "live_bytes", "peak_bytes", "driver_bytes", "host_bytes", "resident_bytes",
    "new_keys",
    "new_graph_keys", "seconds", "loss", "gradient_norm", "shapes",
)  # fmt: skip


def as_json(report: Report) -> str:
    """Return a report as indented JSON."""
    return json.dumps(to_export(report), indent=2, ensure_ascii=False) + "\n"


def as_csv(report: Report) -> str:
    """Return one line for each step of each run; what is not known is empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for run in report.runs:
        for record in run.steps:
            numbers = (
                record.live,
                record.peak,
                record.driver,
                record.host,
                record.resident,
                record.new_keys,
                record.new_graph_keys,
                record.seconds,
            )
            known = ["" if number < 0 else number for number in numbers]
            rest = ["" if value is None else value for value in (record.loss, record.gradient_norm)]
            writer.writerow([run.name, run.backend, record.step, record.what, *known, *rest, record.shapes])
    return stream.getvalue()
