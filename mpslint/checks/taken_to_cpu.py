"""What a function takes on the CPU only, taken there."""

from __future__ import annotations

import ast

from mpslint.core.finding import Edit, Span
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.spelling import WrittenSetting

CALL = ".cpu()"


def rewrite(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edit that takes a tensor to the CPU where a name, an attribute or an item gives it, which is right on every machine."""
    if not isinstance(match.node, (ast.Name, ast.Attribute, ast.Subscript)):
        return None
    end = evidence.span_of(match.node).end
    return WrittenSetting((Edit(Span(end, end), CALL),), f"{ast.unparse(match.node)}{CALL}")
