"""Tokenizer calls of a preprocessing function that let texts of any length through.

A check because it looks into functions that `map` calls with rows, which the interpreter doesn't run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.program.walk import called_name, walk
from mpslint.rule.judge import Match
from mpslint.settings.derived import VARYING
from mpslint.settings.evidence import Evidence
from mpslint.settings.plan import TrainingPlan
from mpslint.settings.sliced import mapped_function

BOUNDS = frozenset({"truncation", "max_length", "text_target", "stride", "return_overflowing_tokens"})
"""Arguments that cut a text, or say that it is no input."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the calls of a tokenizer, in a function given to `map`, that neither cut nor bound their text."""
    plan = next((plan for plan in evidence.plans if _pads_by_batch(plan)), None)
    if plan is None:
        return
    for call in evidence.facts.calls:
        if call.method != "map":
            continue
        function = mapped_function(call)
        if function is None or any(isinstance(node, ast.Slice) for node in walk(function.node)):
            continue
        for node in walk(function.node):
            if isinstance(node, ast.Call) and _is_uncut(node):
                yield Match(evidence.span_of(node), {"written": ast.unparse(node.func)}, plan=plan, context=call.context, node=node)


def _pads_by_batch(plan: TrainingPlan) -> bool:
    """Return whether a Trainer's collator pads what it is given, as long as it is; configurations that tokenize cut by themselves."""
    shapes = plan.get("padding.shapes")
    decider = shapes.pattern.role if shapes is not None and shapes.pattern is not None else ""
    return decider in ("collator", "trainer") and plan.constant("padding.shapes") == VARYING


def _is_uncut(node: ast.Call) -> bool:
    """Return whether a call is one of a tokenizer, on its text alone."""
    keywords = {keyword.arg for keyword in node.keywords}
    return called_name(node).endswith("tokenizer") and bool(node.args) and None not in keywords and not keywords & BOUNDS
