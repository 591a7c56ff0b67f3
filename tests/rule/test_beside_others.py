"""Rules that aren't worth a report by themselves are reported beside others, or when they are asked for."""

from __future__ import annotations

import pytest

from mpslint.engine import check
from mpslint.rule.loading import load_rules
from mpslint.source.reader import read
from mpslint.target.target import default_target

ARGUMENTS = "from transformers import TrainingArguments\nargs = TrainingArguments('out'{})\n"


@pytest.mark.parametrize(
    ("more", "only", "found"),
    [("", "", False), (", fp16=True", "", True), ("", "MPS602", True), (", dataloader_pin_memory=False, fp16=True", "", False)],
)
def test_pinned_memory_alone_is_no_report(more: str, only: str, found: bool) -> None:
    """MPS602 beside fp16, or by itself where nothing else is asked for."""
    rules = tuple(rule for rule in load_rules() if rule.id.startswith(only))
    checked = check(read("train.py", ARGUMENTS.format(more).encode()), default_target(), rules)
    assert any(finding.rule == "MPS602" for finding in checked.findings) is found
