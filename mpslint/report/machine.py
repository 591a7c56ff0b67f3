"""The JSON report. Its shape is stable: `schema` grows by one when a key changes its meaning or goes.

    {"schema": 1, "mpslint": "0.1.0",
     "files": [{"path", "kind", "target": {name: {"version", "source"}}, "memory_gib", "chip",
                "plans": [...as `mpslint plan --format json`...],
                "findings": [{"rule", "name", "severity", "message", "why", "place", "end", "range", "text",
                              "related": [{"message", "place"}],
                              "entries": [{"path", "line"}],
                              "fix": {"safety", "summary", "reason", "edits": [{"place", "end", "range", "text"}]} | null}],
                "unread": [{"place", "reason"}], "unjudged": [{"place", "reason"}]}],
     "problems": [{"path", "message"}],
     "summary": {"files", "error", "warning", "note", "fixable_safe", "fixable_unsafe"}}

A place is {"cell", "cell_id", "execution_count", "line", "column", "physical_line", "physical_column"}: the first three only in
notebooks, line and column from 1 and within the cell, the physical ones those of the file itself. A place in another file of the run
also has its "path". Entries are what starts the runs that a finding was found in: lines of shell scripts, and scripts other than the
file of the finding, whose line is null. A range is [start, end) in characters of the joined text of the cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mpslint import __version__
from mpslint.core.finding import Safety
from mpslint.core.inert import json_text
from mpslint.facts.values import Known, OneOf
from mpslint.session.view import FileView, ShownFinding, versions_of, view
from mpslint.source.document import Document, Place

if TYPE_CHECKING:
    from mpslint.engine import Checked
    from mpslint.session.session import FileResult
    from mpslint.settings.plan import TrainingPlan
    from mpslint.settings.setting import Setting

SCHEMA = 1


def report_text(files: Sequence[FileView]) -> str:
    """Return the report of files that `full_view` gave, one file a line."""
    findings = [finding for file in files for finding in file.findings]
    severities = Counter(finding.severity for finding in findings)
    safeties = Counter(finding.safety for finding in findings)
    summary = {
        "files": len(files),
        **{name: severities[name] for name in ("error", "warning", "note")},
        "fixable_safe": safeties[Safety.SAFE.value],
        "fixable_unsafe": safeties[Safety.UNSAFE.value],
    }
    parts = {
        "schema": str(SCHEMA),
        "mpslint": json_text(__version__),
        "files": _lines(json_text(file_as_json(file), None) for file in files if file.details),
        "problems": _lines(json_text({"path": file.path, "message": file.problem}, None) for file in files if file.problem),
        "summary": json_text(summary, None),
    }
    return "{" + ",\n ".join(f'"{key}": {text}' for key, text in parts.items()) + "}\n"


def _lines(items: Iterable[str]) -> str:
    text = ",\n".join(items)
    return f"[\n{text}]" if text else "[]"


def full_view(result: FileResult) -> FileView:
    """Return what came out of a file, with all that the JSON report says of it."""
    file = view(result)
    return file if result.checked is None else replace(file, details=_details(result.checked))


def _details(checked: Checked) -> dict[str, Any]:
    """Return what a file was checked for, and its training plans, as plain data."""
    return {
        "target": versions_of(checked.target),
        "memory_gib": checked.target.memory_gib,
        "chip": checked.target.chip or None,
        "plans": [plan_as_json(one.document, plan) for one in checked.evidence for plan in one.plans],
    }


def file_as_json(file: FileView) -> dict[str, Any]:
    """Return what the JSON report says of a file, from its `full_view`, as plain data."""
    return {
        "path": file.path,
        "kind": file.kind,
        **file.details,
        "findings": [_finding(finding) for finding in file.findings],
        "unread": [{"place": _place(place), "reason": reason} for place, reason in file.unread],
        "unjudged": [{"place": _place(place), "reason": reason} for place, reason in file.unjudged],
    }


def _finding(finding: ShownFinding) -> dict[str, Any]:
    edits = [{"place": _place(one.place), "end": _place(one.end_place), "range": one.range, "text": one.text} for one in finding.edits]
    fix = {"safety": finding.safety, "summary": finding.fix, "reason": finding.reason, "edits": edits}
    return {
        **{name: getattr(finding, name) for name in ("rule", "name", "severity", "message", "why")},
        "place": _place(finding.place),
        "end": _place(finding.end),
        "range": finding.range,
        "text": finding.text,
        "related": [{"message": message, "place": _place(place)} for message, place in finding.related],
        "entries": [{"path": path, "line": line or None} for path, line in finding.entries],
        "fix": fix if finding.safety else None,
    }


def _place(place: Place) -> dict[str, Any]:
    cell = {}
    if place.cell is not None:
        cell = {"cell": place.cell, "cell_id": place.cell_id or None, "execution_count": place.execution_count}
    physical = {"physical_line": place.physical_line, "physical_column": place.physical_column}
    path = {"path": place.path} if place.path else {}
    return {**path, **cell, "line": place.line, "column": place.column, **physical}


def plan_as_json(document: Document, plan: TrainingPlan) -> dict[str, Any]:
    """Return a training plan as plain data: every setting that counts, by canonical name."""
    settings = {name: setting_as_json(document, setting) for name in plan.settings if (setting := plan.get(name)) is not None}
    return {
        "kind": plan.kind,
        "title": plan.title,
        "place": _place(document.place(plan.span.start)) if plan.span is not None else None,
        "settings": dict(sorted(settings.items())),
    }


def setting_as_json(document: Document, setting: Setting) -> dict[str, Any]:
    """Return one setting as plain data."""
    value = setting.value
    alternatives = [v.value for v in value.values if isinstance(v, Known)] if isinstance(value, OneOf) else None
    return {
        "known": isinstance(value, Known),
        "value": value.value if isinstance(value, Known) else None,
        **({"one_of": alternatives} if alternatives else {}),
        "spelling": setting.spelling,
        "written": setting.is_written,
        "may_be_overridden": isinstance(value, Known) and value.weak,
        "place": _place(document.place(setting.span.start)) if setting.span is not None else None,
        "origin": _place(document.place(setting.origin.start)) if setting.origin is not None else None,
        "default_for": str(setting.default_versions) or "every version" if setting.default_versions is not None else None,
        "dialect": setting.dialect,
    }
