"""A Trainer whose `evaluate()` or `predict()` is called before its `train()`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

EVALUATING = frozenset(["evaluate", "predict"])

WORDS = ("evaluate", "predict")
"""One of these stands in every function, and file, in which it finds something."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each evaluation of a Trainer that trains later on."""
    trainers = {id(m.call.result) for m in evidence.file_plans.matched if m.pattern.role == "trainer" and m.call.result is not None}
    calls = [call for call in evidence.facts.calls if id(call.receiver) in trainers and not call.context.guards]
    for number, call in enumerate(calls):
        if call.method in EVALUATING and any(
            later.method == "train" and later.receiver is call.receiver and later.node is not call.node for later in calls[number:]
        ):
            yield Match(evidence.span_of(call.node), {"written": call.method}, call=call, context=call.context, node=call.node)
