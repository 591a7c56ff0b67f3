"""Labels that the tokenizer pads and nobody masks: the model is trained to write padding.

A check because it follows ids from a tokenizer's call into the labels of a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.facts.values import UNKNOWN, Call, Instance, Symbol, Value, made_from
from mpslint.facts.values import Mapping as Entries
from mpslint.program.walk import called_name
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.plan import TrainingPlan
from mpslint.settings.setting import Setting
from mpslint.tensors.traits import elements_of

MASKING = re.compile(r"(?<![!=]=)\s*-\s?100\b|(?i:ignore_index)|label_pad_token_id|masked_fill|pad_token_id")
"""Code that puts the ignored label, or something in place of padding; a comparison with -100 is decoding."""
DECODING = re.compile(r"[!=]=\s*-\s?100")
OWN_LABELS = re.compile(r"collat|compute_loss|dataloader|labels")
"""What a Trainer of the program's own holds that may do something to its labels."""
COPIES = frozenset({"copy", "deepcopy", "clone", "detach"})
"""Functions and methods that return what they are given."""


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
    """Return whether the ids that a call makes are the labels of a row; beside themselves only where nothing masks them (`keeps`)."""
    for row, entries in (row for one in evidence.facts.preparations for row in one.rows):
        others = (row.each or UNKNOWN) if isinstance(row, Entries) else row  # `{name: one.squeeze() for name, one in tokens.items()}`
        labels, ids = entries.get("labels"), entries.get("input_ids", others)
        if labels is not None and _is_of(labels, call) and (not _is_of(ids, call) or (keeps and _is_copy_of_ids(labels, call))):
            return True
    return False


def _is_of(value: Value, call: Call) -> bool:
    """Return whether a value is what a call makes, or made from it."""
    made = (one for inner in elements_of(value) for one in made_from(inner) if isinstance(one, Instance))
    return any(one.call is not None and one.call.node is call.node for one in made)


def _is_copy_of_ids(value: Value, call: Call) -> bool:
    """Return whether a value is the ids that a call makes, copied or not: `tokens["input_ids"].copy()`."""
    if not isinstance(value, Instance):
        return False
    if value.call is not None and called_name(value.call.node) in COPIES:
        return any(_is_copy_of_ids(one, call) for one in (value.owner, *value.call.given) if one is not None)
    return value.name.endswith(".input_ids") and value.call is None and value.owner is not None and _is_of(value.owner, call)
