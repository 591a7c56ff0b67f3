"""Labels that the tokenizer pads and nobody masks: the model is trained to write padding.

A check because it follows ids from a tokenizer's call into the labels of a row.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from mpslint.facts.values import Call, Instance, Symbol
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
            if call is not None and _becomes_labels(call, keeps and setting.constant == "max_length", evidence):
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


def _becomes_labels(call: Call, keeps: bool, evidence: Evidence) -> bool:
    """Return whether the ids that a call makes are stored under "labels"; beside themselves only where nothing masks them (`keeps`)."""
    function = call.context.functions[-1] if call.context.functions else None
    reads = {call.node, *_reads(call, evidence)}
    stored = [one for node in walk(function) for one in _stored_labels(node)] if function is not None else []
    for beside, value in stored:
        if not reads.isdisjoint(walk(beside) if beside is not None else ()):
            if keeps and len(stored) == 1 and _is_copy_of_ids(value, reads):
                return True
        elif not reads.isdisjoint(walk(value)):
            return True
    return False


def _reads(call: Call, evidence: Evidence) -> Iterator[ast.AST]:
    """Yield the expressions by which what a call makes, or a part of it, is read."""
    yield from evidence.facts.uses.of_made(call)
    for read, nodes in evidence.facts.uses.reads.items():
        part = read if isinstance(read, Instance) else None
        while part is not None and part is not call.result:
            part = part.owner
        yield from nodes if part is not None else ()


def _stored_labels(node: ast.AST) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    """Yield what a node stores under "labels", with what holds the ids beside them (own ids are those of a language model, which its
    collator masks): an assignment, or a dict in one piece."""
    entries: dict[object, ast.expr] = {}
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant) and target.slice.value == "labels":
                yield target.value, node.value
    elif isinstance(node, ast.Dict):
        entries = {key.value: value for key, value in zip(node.keys, node.values, strict=True) if isinstance(key, ast.Constant)}
    elif isinstance(node, ast.Call) and called_name(node) in MAKES_ROWS:
        entries = {keyword.arg: keyword.value for keyword in node.keywords}
    if "labels" in entries:
        yield entries.get("input_ids"), entries["labels"]


def _is_copy_of_ids(node: ast.expr, reads: Collection[ast.AST]) -> bool:
    """Return whether an expression is the ids of what is read so, copied or not: `tokens["input_ids"].copy()`."""
    if isinstance(node, ast.Call):
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        is_method = isinstance(node.func, ast.Attribute) and not arguments
        copied = node.func.value if is_method and isinstance(node.func, ast.Attribute) else arguments[0] if len(arguments) == 1 else None
        return called_name(node) in COPIES and copied is not None and _is_copy_of_ids(copied, reads)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return ast.unparse(node.slice) == ":" and _is_copy_of_ids(node.value, reads)
    is_ids = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == "input_ids"
    is_ids = is_ids or (isinstance(node, ast.Attribute) and node.attr == "input_ids")
    return is_ids and isinstance(node, (ast.Subscript, ast.Attribute)) and node.value in reads
