"""A cast to float16 by itself."""

from __future__ import annotations

import ast

from mpslint.core.finding import Edit, Span
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.spelling import WrittenSetting


def rewrite(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edit that takes a `.half()` away from the expression that it ends; None for anything else that makes weights float16."""
    call = match.call.node if match.call is not None and match.call.method == "half" else None
    parent = evidence.parents.get(call) if call is not None else None
    if call is None or not isinstance(call.func, ast.Attribute) or isinstance(parent, ast.Expr):
        return None
    receiver, whole = evidence.span_of(call.func.value), evidence.span_of(call)
    if isinstance(parent, ast.Assign) and ast.unparse(parent.targets[0]) == ast.unparse(call.func.value):
        return WrittenSetting((Edit(Span(whole.end - len("half()"), whole.end), "float()"),), ".float()")
    return WrittenSetting((Edit(Span(receiver.end, whole.end), ""),), "without .half()")
