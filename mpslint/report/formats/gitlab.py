"""The code quality report of GitLab: findings in merge requests, followed from one to the next by their fingerprints."""

from __future__ import annotations

import hashlib
from typing import Any

from mpslint.core.inert import json_text
from mpslint.report.records import CheckReport, notice_words, notices, records, sentence

SEVERITIES = {"error": "critical", "warning": "major", "note": "info"}


def render(report: CheckReport) -> str:
    """Return a JSON list with one entry for each finding and for each part that was not read."""
    rows = []
    for record in records(report):
        finding = record.finding
        lines = {"begin": finding.place.physical_line, "end": finding.end.physical_line}
        rows.append(_row(sentence(finding), finding.rule, record.fingerprint, SEVERITIES[finding.severity], record.path, lines))
    for notice in notices(report):
        words = notice_words(notice)
        fingerprint = hashlib.blake2b(f"{notice.path}\0{words}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        severity = "critical" if notice.is_whole_file else "minor"
        rows.append(_row(words, "not-read", fingerprint, severity, notice.path, {"begin": notice.place.physical_line}))
    return json_text(rows) + "\n"


def _row(description: str, check: str, fingerprint: str, severity: str, path: str, lines: dict[str, int]) -> dict[str, Any]:
    return {
        "description": description,
        "check_name": check,
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {"path": path, "lines": lines},
    }
