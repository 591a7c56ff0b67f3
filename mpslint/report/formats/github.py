"""Workflow commands of GitHub Actions: a line of output that becomes an annotation on the line of the pull request.

A notebook's annotation stands on the line of the .ipynb file, as the diff shows it; the message names the cell.
"""

from __future__ import annotations

from mpslint.core.inert import inert_lines
from mpslint.report.records import CheckReport, advice, cell_words, notice_words, notices, records
from mpslint.session.view import ShownFinding
from mpslint.source.document import Place

COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: CheckReport) -> str:
    """Return one workflow command for each finding and for each part that was not read."""
    lines = [_of_finding(record.path, record.finding) for record in records(report)]
    for notice in notices(report):
        level = "error" if notice.is_whole_file else "warning"
        lines.append(_command(level, notice.path, notice.place, None, "mpslint", notice_words(notice)))
    return "".join(line + "\n" for line in lines)


def _of_finding(path: str, finding: ShownFinding) -> str:
    first = ": ".join(filter(None, (cell_words(finding.place), finding.message)))
    message = "\n".join(filter(None, (first, finding.why, advice(finding))))
    return _command(COMMANDS[finding.severity], path, finding.place, finding.end, f"{finding.rule} {finding.name}", message)


def _command(command: str, path: str, start: Place, end: Place | None, title: str, message: str) -> str:
    """Return one command. Columns are left out where a range has several lines: GitHub takes them for one line only."""
    properties: dict[str, object] = {"file": path, "line": start.physical_line}
    if end is not None and end.physical_line > start.physical_line:
        properties["endLine"] = end.physical_line
    else:
        properties["col"] = start.physical_column
        if end is not None:
            properties["endColumn"] = end.physical_column
    properties["title"] = title
    escaped = {name: _data(str(value)).replace(":", "%3A").replace(",", "%2C") for name, value in properties.items()}
    listed = ",".join(f"{name}={value}" for name, value in escaped.items())
    return f"::{command} {listed}::{_data(message)}"


def _data(text: str) -> str:
    return inert_lines(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
