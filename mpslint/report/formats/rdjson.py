"""Reviewdog Diagnostic Format (rdjson): what reviewdog turns into comments and suggestions on a pull request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mpslint.core.finding import ReadError
from mpslint.core.inert import json_text
from mpslint.core.links import HOME, rule_url
from mpslint.report.records import CheckReport, Notice, Record, notice_words, notices, records, sentence
from mpslint.session.session import Options, read_bytes
from mpslint.source.document import Place
from mpslint.source.files import FoundFile

SEVERITIES = {"error": "ERROR", "warning": "WARNING", "note": "INFO"}


def render(report: CheckReport) -> str:
    """Return one diagnostic for each finding and for each part that was not read."""
    lines = {file.path: _lines(file.path) for file in report.files if file.findings}
    found = [_of_finding(record, lines[record.file.path]) for record in records(report)]
    diagnostics = [*found, *map(_of_notice, notices(report))]
    source = {"name": "mpslint", "url": HOME}
    return json_text({"source": source, "diagnostics": diagnostics}, indent=1) + "\n"


def _lines(path: str) -> list[str]:
    """Return the lines of a file, as the format counts columns in bytes; none of standard input, or of a file that has gone."""
    try:
        return read_bytes(FoundFile(path), Options()).decode("utf-8").splitlines()
    except (ReadError, UnicodeDecodeError):
        return []


def _of_finding(record: Record, lines: Sequence[str]) -> dict[str, Any]:
    finding = record.finding
    url = rule_url(finding.rule)
    return {
        "message": sentence(finding),
        "location": _location(record.path, finding.place, finding.end, lines),
        "severity": SEVERITIES[finding.severity],
        "code": {"value": finding.rule, **({"url": url} if url else {})},
        **_suggestions(record, lines),
    }


def _suggestions(record: Record, lines: Sequence[str]) -> dict[str, Any]:
    """Return the safe fix as suggestions; reviewdog shows each as a change that a reader can commit."""
    if record.finding.safety != "safe":
        return {}
    places = [{"start": _position(one.place, lines), "end": _position(one.end_place, lines)} for one in record.finding.edits]
    return {"suggestions": [{"range": place, "text": text} for place, text in zip(places, record.new_texts, strict=True)]}


def _of_notice(notice: Notice) -> dict[str, Any]:
    return {
        "message": notice_words(notice),
        "location": _location(notice.path, notice.place, None),
        "severity": "ERROR" if notice.is_whole_file else "WARNING",
    }


def _location(path: str, start: Place, end: Place | None, lines: Sequence[str] = ()) -> dict[str, Any]:
    last = {"end": _position(end, lines)} if end is not None else {}
    return {"path": path, "range": {"start": _position(start, lines), **last}}


def _position(place: Place, lines: Sequence[str]) -> dict[str, int]:
    """Return a place with its column in bytes of UTF-8."""
    column = place.physical_column
    if 0 < place.physical_line <= len(lines):
        column = len(lines[place.physical_line - 1][: column - 1].encode("utf-8", "surrogatepass")) + 1
    return {"line": place.physical_line, "column": column}
