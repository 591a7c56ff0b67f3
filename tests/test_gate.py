"""The byte test drops only files in which no rule can find anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.gate import COMMON_METHODS, gate, may_matter
from mpslint.judge import check_module
from mpslint.rule import load_rules
from mpslint.settings.dialect import load_dialects

RULES = load_rules()
EXAMPLES = [(rule, example.bad) for rule in RULES for example in rule.examples if example.bad and not example.known_miss]
SAMPLES = Path(__file__).parents[1] / "samples"


@pytest.mark.parametrize(("rule", "text"), EXAMPLES, ids=[rule.id for rule, _ in EXAMPLES])
def test_every_example_passes(rule: object, text: str) -> None:
    """What a rule finds is never dropped."""
    assert may_matter(text.encode(), RULES)


@pytest.mark.parametrize(
    "text", ["import os\nprint(1)\n", "def f(x):\n    return x.to_dict()\n", "import numpy as np\nx = np.zeros(3)\n", ""]
)
def test_ordinary_files_are_dropped(text: str) -> None:
    """They cost next to nothing."""
    assert not may_matter(text.encode(), RULES)


def test_whatever_a_dialect_can_read_holds_a_word() -> None:
    """A call, method, variable or flag as the dialect names it passes, so that nothing it reads can be dropped."""
    pattern = gate(RULES)
    for dialect in load_dialects().all:
        for name in dialect.environment:
            assert pattern.search(name.encode())
        for call in dialect.calls:
            devices = all(spelling.reads == "device" for spellings in call.table.arguments.values() for spelling in spellings)
            if call.has or (devices and call.table.arguments):
                continue  # asks for an argument or a device, which are words themselves
            for method in call.methods:
                assert method in COMMON_METHODS or pattern.search(f"x.{method}()".encode()), method
            for name in call.names:
                assert pattern.search(name.replace("*", "").encode()), name


def test_every_check_names_its_words() -> None:
    """A Python check says which words stand wherever it finds something."""
    for rule in RULES:
        for condition in rule.when[:1]:
            if condition.subject == "check":
                modules = [check_module(name) for name in condition.names]
                assert all(list(m.words(condition.options)) if hasattr(m, "words") else m.WORDS for m in modules)


def test_every_sample_that_has_findings_passes() -> None:
    """The shipped samples are never dropped."""
    for path in SAMPLES.iterdir():
        assert may_matter(path.read_bytes(), RULES) or path.name.startswith(("clean", "."))
