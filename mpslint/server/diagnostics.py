"""Findings as diagnostics of the protocol, and what an editor shows of one when somebody points at it."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types

from mpslint.core.finding import Finding, Related, Safety, Severity, Span
from mpslint.core.grouped import grouped
from mpslint.core.links import rule_url
from mpslint.report.rule_page import rule_page
from mpslint.server.judging import Judged, rule_of
from mpslint.server.snapshot import Snapshot
from mpslint.session.session import Options
from mpslint.source.document import Document

SOURCE = "mpslint"
SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}


def diagnostics_of(judged: Judged, with_related: bool) -> dict[str, list[types.Diagnostic]]:
    """Return what an editor shows, by the address of each text that has something: findings, and what was not read."""
    found: list[tuple[str, types.Diagnostic]] = []
    snapshot, document = judged.snapshot, judged.document
    if document is not None:
        found += [diagnostic_of(snapshot, document, one, with_related) for one in sorted(judged.findings, key=lambda one: one.order)]
        for part in judged.unread:
            uri, range_ = place_of(snapshot, document, part.span)
            found.append((uri, _not_checked(range_, part.reason)))
    if judged.problem and snapshot.parts:
        first = snapshot.parts[0]
        found.append((first.uri, _not_checked(first.range(0, 0), judged.problem)))
    return grouped(found)


def diagnostic_of(snapshot: Snapshot, document: Document, finding: Finding, with_related: bool) -> tuple[str, types.Diagnostic]:
    """Return a finding as a diagnostic, and the address of the text that it is in."""
    uri, range_ = place_of(snapshot, document, finding.span)
    related = [
        types.DiagnosticRelatedInformation(_location(snapshot, document, other), other.message)
        for other in ((*finding.related, *finding.entries, *filter(None, [finding.home])) if with_related else ())
    ]
    url = rule_url(finding.rule)
    return uri, types.Diagnostic(
        range_,
        finding.message,
        SEVERITIES[finding.severity],
        finding.rule,
        types.CodeDescription(url) if url else None,
        source=SOURCE,
        related_information=related or None,
    )


def _location(snapshot: Snapshot, document: Document, other: Related) -> types.Location:
    """Return where something is that a finding rests on; in another file, the beginning of its text."""
    if not other.path:
        return types.Location(*place_of(snapshot, document, other.span))
    start = types.Position(max(0, other.line - 1), max(0, other.column - 1))
    return types.Location(Path(other.path).absolute().as_uri(), types.Range(start, start))


def place_of(snapshot: Snapshot, document: Document, span: Span) -> tuple[str, types.Range]:
    """Return the address of the text that a span of the Document is in, and its range there."""
    part, start, end = snapshot.place(document, span)
    return part.uri, part.range(start, end)


def _not_checked(range_: types.Range, reason: str) -> types.Diagnostic:
    return types.Diagnostic(range_, f"not checked: {reason}", types.DiagnosticSeverity.Information, source=SOURCE)


def findings_at(judged: Judged, uri: str, position: types.Position) -> list[tuple[Finding, types.Range]]:
    """Return the findings at a place, with their ranges."""
    document = judged.document
    places = [(one, *place_of(judged.snapshot, document, one.span)) for one in judged.findings] if document is not None else []
    return [(finding, range_) for finding, text, range_ in places if text == uri and range_.start <= position <= range_.end]


def page_of(judged: Judged, options: Options, finding: Finding) -> str:
    """Return what there is to say of a finding, as Markdown. Raises MpslintError."""
    fix = finding.fix
    advice = f"\n\nFix (by hand): {fix.summary}" if fix is not None and fix.safety is Safety.MANUAL else ""
    heading = f"**{finding.rule} {finding.name}** ({finding.severity.value})\n\n{finding.message}{advice}"
    return f"{heading}\n\n---\n\n{rule_page(rule_of(judged.snapshot, options, finding))}"
