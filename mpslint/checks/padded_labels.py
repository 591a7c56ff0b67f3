"""Labels that the tokenizer pads and nobody masks: the model is trained to write padding."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.facts.values import Call, FunctionNode
from mpslint.program.walk import walk
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.plan import TrainingPlan
from mpslint.settings.setting import Setting
from mpslint.source.words import quoted

MASKING = re.compile(r"(?<![!=]=)\s*-\s?100\b|ignore_index|label_pad_token_id|masked_fill|pad_token_id")
"""Code that puts the ignored label, or something in place of padding; a comparison with -100 is decoding."""
DECODING = re.compile(r"[!=]=\s*-\s?100")


GATE = Gate(words=("padding",), groups=(["padding"], [quoted("labels")]))


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the padding of a tokenizer's calls whose ids become labels as they are."""
    found = [match for plan in evidence.plans for match in _of_plan(plan, evidence)]
    if found and not MASKING.search(DECODING.sub("", _without_metrics(evidence.text))):
        yield from found


def _of_plan(plan: TrainingPlan, evidence: Evidence) -> Iterator[Match]:
    for setting in (*plan.settings.get("padding.target", ()), *plan.settings.get("padding.strategy", ())):
        if setting.is_known and setting.constant in ("max_length", "longest") and setting.span is not None and setting.is_written:
            call = setting.call
            if call is not None and _becomes_labels(call, evidence):
                yield _match(setting, call, evidence)


def _match(setting: Setting, call: Call, evidence: Evidence) -> Match:
    assert setting.span is not None
    written = evidence.document.text[setting.span.start : setting.span.end]
    return Match(setting.span, {"written": written}, setting, call, None, call.context, (), setting.node)


def _without_metrics(text: str) -> str:
    """Return a program without its functions that compute metrics: they put padding back to decode labels."""
    return re.sub(r"def \w*(?:metric|postprocess)\w*\(.*?(?=\n\S)", "", text, flags=re.DOTALL)


def _becomes_labels(call: Call, evidence: Evidence) -> bool:
    """Return whether the ids that a call makes are stored under "labels"."""
    scope: FunctionNode | None = call.context.functions[-1] if call.context.functions else None
    body = scope.body if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) else []
    names = {name for statement in body for name in _names_of(statement, call.node)}
    for statement in body:
        for node in walk(statement):
            if isinstance(node, ast.Assign) and any(_is_labels(target) and _owner(target) not in names for target in node.targets):
                inside = list(walk(node.value))
                if call.node in inside or any(isinstance(inner, ast.Name) and inner.id in names for inner in inside):
                    return True
    return False


def _owner(target: ast.expr) -> str:
    """Return the name of the mapping that gets the labels: its own ids are those of a language model, which its collator masks."""
    return target.value.id if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) else ""


def _names_of(statement: ast.stmt, node: ast.Call) -> Iterator[str]:
    for inner in walk(statement):
        if isinstance(inner, ast.Assign) and node in list(walk(inner.value)) and not any(map(_is_labels, inner.targets)):
            for target in inner.targets:
                if isinstance(target, ast.Name):
                    yield target.id


def _is_labels(target: ast.expr) -> bool:
    return isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant) and target.slice.value == "labels"
