"""A file that names no framework is dropped, and only such a one."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from mpslint import engine
from mpslint.core.knowledge import platform_data
from mpslint.rule.frameworks import compiled_words, names_framework
from mpslint.rule.loading import load_rules
from mpslint.settings.dialects import load_dialects
from mpslint.source.reader import read
from mpslint.target.target import default_target
from tests.rule.cases import examples_of

RULES = tuple(rule for rule in load_rules() if not rule.once_a_run)
"""Without those about the whole environment, for which any import of PyTorch is enough to be asked."""
EXAMPLES = [(rule, example.bad) for rule in RULES for example in examples_of(rule) if example.bad and not example.known_miss]
ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"


@pytest.mark.parametrize(("rule", "text"), EXAMPLES, ids=[rule.id for rule, _ in EXAMPLES])
def test_every_example_passes(rule: object, text: str) -> None:
    """What a rule finds is never dropped."""
    assert names_framework(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "import os\nprint(1)\n",
        "def f(x):\n    return x.to_dict()\n",
        "import numpy as np\nx = np.zeros(3)\n",
        "def tokenize(text, max_length, padding):\n    return tok(text, truncation=True)\n",
        "# a model\nmodel = Model().half()\n",
        "",
    ],
)
def test_ordinary_files_are_dropped(text: str) -> None:
    """They cost next to nothing."""
    assert not names_framework(text.encode())


def test_most_of_the_standard_library_is_dropped() -> None:
    """The first question is narrow enough to spare nearly every file that has nothing to do with PyTorch."""
    files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    kept = [path.name for path in files if names_framework(path.read_bytes())]

    assert len(files) > 100
    assert len(kept) < len(files) / 6, kept  # nearly all of them for the "mps" in "dumps"; how many there are depends on the Python


def test_whatever_a_dialect_can_read_names_a_framework() -> None:
    """The packages, variables and commands of a dialect, so that nothing it reads can be dropped."""
    for dialect in load_dialects().all:
        # Words of which one is in every such command. What is assigned (`data=`) stands in too many texts to tell anything.
        known_by = [one.names or tuple(name for name in one.has if not name.endswith("=")) for one in dialect.commands]
        patterns = [glob for one, words in zip(dialect.commands, known_by, strict=True) if not words for glob in one.programs.globs]
        for name in (*dialect.roots, *dialect.environment, *(max(glob.split("*"), key=len) for glob in patterns)):
            assert names_framework(name.encode()), name
        for words in known_by:
            assert all(names_framework(word.encode()) for word in words), words


def test_whatever_a_rule_is_about_by_itself_names_a_framework() -> None:
    """The packages and variables that a rule asks for first, those of Python itself aside, and what tells that a file runs elsewhere."""
    for condition in (rule.when[0] for rule in RULES if rule.when[0].subject in ("environment", "import")):
        for name in condition.names:
            assert names_framework(name.encode()) or name.split(".")[0] in sys.stdlib_module_names, name
    for suite in platform_data("elsewhere")["suites"]:
        assert (
            not suite.get("says") or suite.get("path") or any(names_framework(word.encode()) for word in (*suite["words"], suite["text"]))
        ), suite


def test_every_sample_that_has_findings_passes() -> None:
    """The shipped samples are never dropped."""
    for path in SAMPLES.iterdir():
        assert names_framework(path.read_bytes()) or path.name.startswith(("clean", "."))


def test_frameworks_are_few() -> None:
    """The first question is asked of every byte of a repository."""
    assert len(compiled_words()) < 130


@pytest.mark.parametrize(("given", "found"), [('"cuda"', ["MPS501"]), ('"cpu"', [])])
def test_a_long_function_is_followed_for_what_it_is_given(given: str, found: list[str]) -> None:
    """Nothing in its own text speaks of a device, but the call of it does."""
    body = "".join(f"    total = {number}\n" for number in range(50))
    text = f"import torch\n\n\ndef work(x, place):\n{body}    return x.to(place)\n\n\nwork(torch.ones(2), {given})\n"
    document = read("train.py", text.encode())

    assert [finding.rule for finding in engine.check(document, default_target(), RULES).findings] == found
