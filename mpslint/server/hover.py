"""What an editor shows of a finding when somebody points at it: the rule's page, as `mpslint explain` has it."""

from __future__ import annotations

from lsprotocol import types

from mpslint.core.finding import Finding, Safety
from mpslint.report.rule_page import rule_page
from mpslint.server.judging import Judged, rule_of
from mpslint.session.session import Options


def findings_at(judged: Judged, uri: str, position: types.Position) -> list[tuple[Finding, types.Range]]:
    """Return the findings at a place, with their ranges."""
    found = []
    for finding in judged.findings if judged.document is not None else ():
        assert judged.document is not None
        part, start, end = judged.snapshot.place(judged.document, finding.span)
        range_ = part.range(start, end)
        if part.uri == uri and range_.start <= position <= range_.end:
            found.append((finding, range_))
    return found


def page_of(judged: Judged, options: Options, finding: Finding) -> str:
    """Return what there is to say of a finding, as Markdown. Raises MpslintError."""
    fix = finding.fix
    advice = f"\n\nFix (by hand): {fix.summary}" if fix is not None and fix.safety is Safety.MANUAL else ""
    heading = f"**{finding.rule} {finding.name}** ({finding.severity.value})\n\n{finding.message}{advice}"
    return f"{heading}\n\n---\n\n{rule_page(rule_of(judged.snapshot, options, finding))}"
