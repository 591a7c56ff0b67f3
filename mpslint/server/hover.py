"""What an editor shows of a finding when somebody points at it: the rule's page, as `mpslint explain` has it."""

from __future__ import annotations

from lsprotocol import types

from mpslint.core.finding import Finding, Safety
from mpslint.report.rule_page import rule_page
from mpslint.server.diagnostics import place_of
from mpslint.server.judging import Judged, rule_of
from mpslint.session.session import Options


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
