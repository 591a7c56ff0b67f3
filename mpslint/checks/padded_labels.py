"""Labels that the tokenizer pads and nobody masks: the model is trained to write padding.

A check because it follows ids from a tokenizer's call into the labels of a row, through names that nothing else reads.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.facts.values import Call, FunctionNode, Instance, Symbol
from mpslint.program.walk import called_name, walk
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.plan import TrainingPlan
from mpslint.settings.setting import Setting

MASKING = re.compile(r"(?<![!=]=)\s*-\s?100\b|(?i:ignore_index)|label_pad_token_id|masked_fill|pad_token_id")
"""Code that puts the ignored label, or something in place of padding; a comparison with -100 is decoding."""
DECODING = re.compile(r"[!=]=\s*-\s?100")
OWN_LABELS = re.compile(r"collat|compute_loss|dataloader|labels")
"""What a Trainer of the program's own holds that may do something to its labels."""
COPIES = frozenset({"copy", "deepcopy", "clone", "list", "detach"})
"""Functions and methods that return what they are given."""

MAKES_ROWS = frozenset({"dict", "update", "BatchEncoding", "BatchFeature"})
"""Functions and methods whose keywords are entries of a row."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the padding of a tokenizer's calls whose ids become labels as they are.

    Options: `trainers`, those that leave labels as they are; `collators`, those that mask no padding which is there already.
    """
    found = [match for plan in evidence.plans for match in _of_plan(plan, evidence, options)]
    if found and not MASKING.search(DECODING.sub("", _without_metrics(evidence.text))):
        yield from found


def _of_plan(plan: TrainingPlan, evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    keeps = _keeps_labels(plan.trainer, evidence, options)
    for setting in (*plan.settings.get("padding.target", ()), *plan.settings.get("padding.strategy", ())):
        if setting.is_known and setting.constant in ("max_length", "longest") and setting.span is not None and setting.is_written:
            call = setting.call
            if call is not None and _becomes_labels(call, keeps and setting.constant == "max_length"):
                yield _match(setting, call, evidence)


def _match(setting: Setting, call: Call, evidence: Evidence) -> Match:
    assert setting.span is not None
    written = evidence.document.text[setting.span.start : setting.span.end]
    return Match(setting.span, {"written": written}, setting, call, None, call.context, (), setting.node)


def _without_metrics(text: str) -> str:
    """Return a program without its functions that compute metrics: they put padding back to decode labels."""
    return re.sub(r"def \w*(?:metric|postprocess)\w*\(.*?(?=\n\S)", "", text, flags=re.DOTALL)


def _keeps_labels(trainer: Call | None, evidence: Evidence, options: Mapping[str, Any]) -> bool:
    """Return whether a Trainer, and the collator that it is known to have, leave labels that the rows bring as they are."""
    if trainer is None or trainer.is_open or not set(trainer.names) & set(options["trainers"]):
        return False
    cls = trainer.result.cls if trainer.result is not None else None
    if cls is not None and OWN_LABELS.search(evidence.text_of(cls.node)):
        return False
    given = trainer.keywords.get("data_collator", trainer.arguments[2] if len(trainer.arguments) > 2 else None)
    return given is None or (isinstance(given.value, (Instance, Symbol)) and given.value.name in options["collators"])


def _becomes_labels(call: Call, keeps: bool) -> bool:
    """Return whether the ids that a call makes are stored under "labels"; beside themselves only where nothing masks them (`keeps`)."""
    scope: FunctionNode | None = call.context.functions[-1] if call.context.functions else None
    body = scope.body if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) else []
    names = {name for statement in body for name in _names_of(statement, call.node)}
    stored = [
        (not owners.isdisjoint(names), value) for statement in body for node in walk(statement) for owners, value in _stored_labels(node)
    ]
    for is_beside, value in stored:
        inside = list(walk(value))
        if is_beside:
            if keeps and len(stored) == 1 and _is_copy_of_ids(value, names):
                return True
        elif call.node in inside or any(isinstance(inner, ast.Name) and inner.id in names for inner in inside):
            return True
    return False


def _stored_labels(node: ast.AST) -> Iterator[tuple[set[str], ast.expr]]:
    """Yield what a node stores under "labels", with the names of what holds the ids beside them: an assignment, or a dict in one piece."""
    entries: dict[object, ast.expr] = {}
    if isinstance(node, ast.Assign):
        yield from (({_owner(target)}, node.value) for target in node.targets if _is_labels(target))
    elif isinstance(node, ast.Dict):
        entries = {key.value: value for key, value in zip(node.keys, node.values, strict=True) if isinstance(key, ast.Constant)}
    elif isinstance(node, ast.Call) and called_name(node) in MAKES_ROWS:
        entries = {keyword.arg: keyword.value for keyword in node.keywords}
    if "labels" in entries:
        ids = entries.get("input_ids")
        yield {inner.id for inner in walk(ids) if isinstance(inner, ast.Name)} if ids is not None else set(), entries["labels"]


def _is_copy_of_ids(node: ast.expr, names: set[str]) -> bool:
    """Return whether an expression is the ids of one of some names, copied or not: `tokens["input_ids"].copy()`."""
    if isinstance(node, ast.Call):
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        is_method = isinstance(node.func, ast.Attribute) and not arguments
        copied = node.func.value if is_method and isinstance(node.func, ast.Attribute) else arguments[0] if len(arguments) == 1 else None
        return called_name(node) in COPIES and copied is not None and _is_copy_of_ids(copied, names)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return ast.unparse(node.slice) == ":" and _is_copy_of_ids(node.value, names)
    if isinstance(node, ast.Subscript):
        is_ids = isinstance(node.slice, ast.Constant) and node.slice.value == "input_ids"
        return is_ids and isinstance(node.value, ast.Name) and node.value.id in names
    return isinstance(node, ast.Attribute) and node.attr == "input_ids" and isinstance(node.value, ast.Name) and node.value.id in names


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
