"""SARIF 2.1.0, for code scanning: findings with their rules explained, their fixes as replacements, and fingerprints.

Regions are those of the file itself: in a notebook the line and column of the JSON text, so that a viewer of the .ipynb file shows the
right line, with the cell and its line as the logical location. Replacements of a notebook are therefore written as JSON writes them.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from mpslint import __version__
from mpslint.core.inert import json_text
from mpslint.core.knowledge import platform_data
from mpslint.core.links import HOME, rule_url
from mpslint.report.records import LEVELS, CheckReport, Notice, Record, advice, notice_words, notices, path_from, records, sentence
from mpslint.report.rule_page import rule_page, worst_of
from mpslint.rule.rule import Rule
from mpslint.source.document import Place

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "mpslint/v1"
STARTS = "starts the run"
MOST_RESULTS = 25_000
"""GitHub refuses a run with more; the worst come first then."""
MOST_BYTES = 10_000_000
"""GitHub refuses a larger upload; it counts compressed."""
KINDS_OF_PROBLEM = {"error": "error", "warning": "warning", "note": "recommendation"}


def render(report: CheckReport) -> str:
    """Return one SARIF log with one run, which GitHub takes: of more findings than it accepts, the worst."""
    found, unread = list(records(report)), list(notices(report))
    by_severity = sorted(found, key=lambda record: LEVELS.index(record.finding.severity))
    kept = found if len(found) <= MOST_RESULTS else by_severity[:MOST_RESULTS]
    text = _log(report, kept, unread, len(found) - len(kept))
    while len(kept) > 1 and _is_too_large(text):
        kept = by_severity[: len(kept) // 2]
        text = _log(report, kept, unread, len(found) - len(kept))
    return text


def _is_too_large(text: str) -> bool:
    """Return whether GitHub refuses an upload of this text, which counts compressed."""
    data = text.encode("utf-8", "surrogatepass")
    return len(data) > MOST_BYTES and len(gzip.compress(data)) > MOST_BYTES


def _log(report: CheckReport, kept: Sequence[Record], unread: Sequence[Notice], left_out: int) -> str:
    indexes = {rule.id: index for index, rule in enumerate(report.rules)}
    notifications = list(map(_notification, unread))
    if left_out:
        limits = f"GitHub accepts {MOST_RESULTS:,} results and {MOST_BYTES // 1_000_000} MB compressed."
        notifications.append({"level": "warning", "message": {"text": f"{left_out} less severe findings are left out: {limits}"}})
    run = {
        "tool": {
            "driver": {
                "name": "mpslint",
                "semanticVersion": __version__,
                "informationUri": HOME,
                "rules": [_rule(rule) for rule in report.rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not any(notice.is_whole_file for notice in unread),
                "toolExecutionNotifications": notifications,
            }
        ],
        "results": [_result(record, indexes, report.root) for record in kept],
    }
    return json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    worst = worst_of(rule).value
    page = rule_page(rule)
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.title},
        **({"helpUri": url} if (url := rule_url(rule.id)) else {}),
        "fullDescription": {"text": " ".join(rule.why.split())},
        "help": {"text": page, "markdown": page},
        "defaultConfiguration": {"level": worst},
        "properties": {
            "tags": ["mps", platform_data("rule_pages")["families"].get(rule.id[-3], "mpslint")],
            "precision": "high",
            "problem.severity": KINDS_OF_PROBLEM[worst],
        },
    }


def _result(record: Record, indexes: Mapping[str, int], root: str) -> dict[str, Any]:
    finding = record.finding
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        **({"ruleIndex": indexes[finding.rule]} if finding.rule in indexes else {}),
        "level": finding.severity,
        "message": {"text": sentence(finding)},
        "locations": [_location(record.path, finding.place, finding.end)],
        "partialFingerprints": {FINGERPRINT: record.fingerprint},
    }
    others = [(message, path_from(root, place.path) if place.path else record.path, place) for message, place in finding.related]
    others += [
        (STARTS, path_from(root, path), Place(line or 1, 1, physical_line=line or 1, physical_column=1)) for path, line in finding.entries
    ]
    if others:
        result["relatedLocations"] = [
            {"id": number, "message": {"text": message}, **_location(path, place, None)}
            for number, (message, path, place) in enumerate(others)
        ]
    if finding.edits:
        replacements = [
            {"deletedRegion": _region(edit.place, edit.end_place), "insertedContent": {"text": text}}
            for edit, text in zip(finding.edits, record.new_texts, strict=True)
        ]
        change = {"artifactLocation": {"uri": _uri(record.path)}, "replacements": replacements}
        result["fixes"] = [{"description": {"text": advice(finding)}, "artifactChanges": [change]}]
        result["properties"] = {"fixSafety": finding.safety}
    return result


def _notification(notice: Notice) -> dict[str, Any]:
    return {
        "level": "error" if notice.is_whole_file else "warning",
        "message": {"text": notice_words(notice)},
        "locations": [_location(notice.path, notice.place, None)],
    }


def _location(path: str, start: Place, end: Place | None) -> dict[str, Any]:
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": {"uri": _uri(path)}, "region": _region(start, end)}}
    if start.cell is not None:
        properties = {
            "cell": start.cell,
            "line": start.line,
            "column": start.column,
            **({"cellId": start.cell_id} if start.cell_id else {}),
        }
        name = f"cell {start.cell}"
        location["logicalLocations"] = [
            {"name": name, "fullyQualifiedName": f"{name}, line {start.line}", "kind": "cell", "properties": properties}
        ]
    return location


def _region(start: Place, end: Place | None) -> dict[str, int]:
    region = {"startLine": start.physical_line, "startColumn": start.physical_column}
    return region if end is None else {**region, "endLine": end.physical_line, "endColumn": end.physical_column}


def _uri(path: str) -> str:
    """Return a path as a URI: relative where the path is, so that it counts from the root of the repository."""
    quoted = quote(path, errors="surrogateescape")
    return f"file://{quoted}" if path.startswith("/") else quoted
