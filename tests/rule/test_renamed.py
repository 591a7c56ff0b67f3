"""The id or name of a rule that is gone means the rule that took its place."""

from __future__ import annotations

import pytest

import mpslint
from mpslint.core.knowledge import platform_data
from mpslint.rule.loading import load_rules
from mpslint.rule.selection import current

FP16 = 'from accelerate import Accelerator\n\naccelerator = Accelerator(mixed_precision="fp16"){0}\n'


def test_all_lead_to_a_rule_that_exists() -> None:
    """No entry leads nowhere, and none hides a rule that exists."""
    known = {word for rule in load_rules() for word in (rule.id, rule.name)}
    assert set(platform_data("renamed_rules").values()) <= known
    assert not known.intersection(platform_data("renamed_rules"))


@pytest.mark.parametrize("word", ["MPS108", "accelerate-fp16", "ACCELERATE-FP16", "MPS101", "fp16-mixed-precision"])
def test_a_comment_with_an_old_word_silences(word: str) -> None:
    """What people wrote into their files still holds."""
    assert [finding.rule for finding in mpslint.check(FP16.format("")).findings] == ["MPS101"]
    assert not mpslint.check(FP16.format(f"  # mpslint: ignore[{word}]")).findings


def test_select_and_ignore_take_old_words() -> None:
    """On the command line and in a configuration, too."""
    assert [finding.rule for finding in mpslint.check(FP16.format(""), select=["MPS117"]).findings] == ["MPS101"]
    assert not mpslint.check(FP16.format(""), ignore=["accelerate-fp16"]).findings


def test_other_words_stay() -> None:
    """A word that is no old one is no rule's other name."""
    assert current("MPS999") == "MPS999"
