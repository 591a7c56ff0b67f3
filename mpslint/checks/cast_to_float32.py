"""A cast right where a float64 tensor is made of an array."""

from __future__ import annotations

from mpslint.core.finding import Edit, Span
from mpslint.facts.values import Instance
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.spelling import WrittenSetting
from mpslint.tensors.traits import EACH

CAST = ".float()"


def rewrite(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edit that makes a tensor float32 right where it is made of a float64 array; None where it isn't made of one there."""
    call = match.call
    array = call.arguments[0].value if call is not None and call.arguments else None
    if call is None or call.method or {"device", "dtype"} & call.keywords.keys() or not isinstance(array, Instance):
        return None
    if call.result is not None and EACH in call.result.slots:  # a batch of several, which has no such method
        return None
    end = evidence.span_of(call.node).end
    return WrittenSetting((Edit(Span(end, end), CAST),), CAST)
