"""A report as JSON, and its steps as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from mpslint.verify.driver_memory import driver_ranges
from mpslint.verify.report import VerifyReport, to_export

COLUMNS = (
    "file", "run", "backend", "step", "what", "live_bytes", "tensor_bytes", "peak_bytes", "driver_least_bytes",
    "driver_most_bytes", "host_bytes", "resident_bytes", "new_keys", "new_graph_keys", "seconds", "loss", "gradient_norm", "shapes",
)  # fmt: skip


def as_json(reports: Sequence[VerifyReport]) -> str:
    """Return a report as indented JSON; several as a list of them."""
    data = [to_export(report) for report in reports]
    return json.dumps(data[0] if len(data) == 1 else data, indent=2, ensure_ascii=False) + "\n"


def as_csv(reports: Sequence[VerifyReport]) -> str:
    """Return one line for each step of each run; what is not known is empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for subject, run in ((report.subject, run) for report in reports for run in report.runs):
        for record, driver in zip(run.steps, driver_ranges(run), strict=True):
            live = (record.live, -1) if record.blocks < 0 else (record.blocks, record.live)
            memory = (record.peak, *driver, record.host, record.resident)
            numbers = (*live, *memory, record.new_keys, record.new_graph_keys, record.seconds)
            known = ["" if number < 0 else number for number in numbers]
            rest = ["" if value is None else value for value in (record.loss, record.gradient_norm)]
            writer.writerow([subject, run.name, run.backend, record.step, record.what, *known, *rest, record.shapes])
    return stream.getvalue()
