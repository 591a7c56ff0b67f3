"""The gate drops only files in which no rule can find anything."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path

import pytest

from mpslint import engine
from mpslint.gate.gate import COMMON_METHODS, file_words, frameworks, function_words, may_matter, names_framework
from mpslint.rule.check import gate_of
from mpslint.rule.loading import load_rules
from mpslint.settings.dialects import load_dialects
from mpslint.source.reader import read
from mpslint.target.target import default_target

RULES = tuple(rule for rule in load_rules() if not rule.once_a_run)
"""Without those about the whole environment, for which any import of PyTorch is enough to be asked."""
EXAMPLES = [(rule, example.bad) for rule in RULES for example in rule.examples if example.bad and not example.known_miss]
ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"


@pytest.mark.parametrize(("rule", "text"), EXAMPLES, ids=[rule.id for rule, _ in EXAMPLES])
def test_every_example_passes(rule: object, text: str) -> None:
    """What a rule finds is never dropped, neither as bytes nor as text."""
    assert names_framework(text.encode(), RULES)
    assert may_matter(text, RULES)


@pytest.mark.parametrize(
    "text",
    [
        "import os\nprint(1)\n",
        "def f(x):\n    return x.to_dict()\n",
        "import numpy as np\nx = np.zeros(3)\n",
        "def tokenize(text, max_length, padding):\n    return tok(text, truncation=True)\n",
        "# a model that is trained\nmodel = Model().half()\n",
        "",
    ],
)
def test_ordinary_files_are_dropped(text: str) -> None:
    """They cost next to nothing."""
    assert not may_matter(text, RULES)


def test_most_of_the_standard_library_is_dropped() -> None:
    """The first question is narrow enough to spare nearly every file that has nothing to do with PyTorch."""
    files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    kept = [path.name for path in files if names_framework(path.read_bytes(), RULES)]

    assert len(files) > 100
    assert len(kept) < len(files) / 6, kept  # nearly all of them for the "mps" in "dumps"; how many there are depends on the Python


def test_whatever_a_dialect_can_read_holds_a_word() -> None:
    """A call, method, variable or flag as the dialect names it passes, so that nothing it reads can be dropped."""
    words = file_words(RULES)
    for dialect in load_dialects().all:
        assert all(names_framework(root.encode(), RULES) for root in dialect.roots)
        for name in dialect.environment:
            assert words.are_in(name)
            assert names_framework(name.encode(), RULES)
        for call in dialect.calls:
            devices = all(spelling.reads == "device" for spellings in call.table.arguments.values() for spelling in spellings)
            if call.has or (devices and call.table.arguments):
                continue  # asks for an argument or a device, which are words themselves
            for method in call.methods:
                assert method in COMMON_METHODS or words.are_in(f"x.{method}()"), method
            for name in call.names:
                assert words.are_in(name.replace("*", "")), name


def test_every_check_names_its_words() -> None:
    """A Python check says which words stand wherever it finds something."""
    for rule in RULES:
        for condition in rule.when[:1]:
            if condition.subject == "check":
                gates = [gate_of(name) for name in condition.names]
                assert all(list(gate.names(condition.options)) if gate.names is not None else gate.words for gate in gates)


def test_every_sample_that_has_findings_passes() -> None:
    """The shipped samples are never dropped."""
    for path in SAMPLES.iterdir():
        assert names_framework(path.read_bytes(), RULES) or path.name.startswith(("clean", "."))


def without(text: str, word: str) -> str:
    """Return a text without the lines that hold a word, as far as what is left still parses as something."""
    return "".join(line for line in text.splitlines(keepends=True) if word not in line)


def mutants() -> list[str]:
    """Return texts that are near to what rules find but hold none of their words: the examples without the lines of an identifier.

    Those that name no framework at all are left out: nothing is said about them by definition.
    """
    found = {}
    for _, text in EXAMPLES:
        for word in sorted(set(re.findall(r"\w{3,}", text))):
            mutant = without(text, word)
            if names_framework(mutant.encode(), RULES) and not may_matter(mutant, RULES):
                found[mutant] = None
    return list(found)


def test_no_rule_fires_on_what_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the gate held open, what it would have dropped gives no finding: examples cut short, the library, our own files."""
    dropped = mutants()
    assert len(dropped) > 5
    standard = Path(sysconfig.get_paths()["stdlib"])
    library = [*standard.glob("*.py"), *standard.glob("[a-e]*/*.py"), *(ROOT / "mpslint").rglob("*.py")]
    dropped += [text for path in library if len(text := path.read_text(encoding="utf-8", errors="replace")) < 20_000]
    dropped = [text for text in dropped if not may_matter(text, RULES)]
    assert len(dropped) > 100
    monkeypatch.setattr(engine, "may_matter", lambda *_: True)
    target = default_target()

    for text in dropped:
        findings = engine.check(read("train.py", text.encode("utf-8", "surrogatepass")), target, RULES).findings
        assert not findings, (text, findings)


def test_no_function_that_is_passed_over_holds_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Walking every function, whatever words it holds, finds no more in any example, nor in our samples."""
    target = default_target()
    texts = [text for _, text in EXAMPLES] + [path.read_text(encoding="utf-8") for path in SAMPLES.glob("*.py")]

    def found() -> list[list[tuple[str, int]]]:
        documents = [read("train.py", text.encode()) for text in texts]
        return [[(f.rule, f.span.start) for f in engine.check(document, target, RULES).findings] for document in documents]

    narrow = found()
    monkeypatch.setattr(engine, "function_words", lambda rules: None)

    assert found() == narrow
    assert function_words(RULES).names


def test_frameworks_are_few() -> None:
    """The first question is asked of every byte of a repository."""
    assert (
        len(frameworks(RULES)) < 120
    )  # with google.colab (MPS724), 8 commands of Linux that start a training (MPS721) and 4 ways to say `set -e` (MPS723)


@pytest.mark.parametrize(("given", "found"), [('"cuda"', ["MPS501"]), ('"cpu"', [])])
def test_a_long_function_is_followed_for_what_it_is_given(given: str, found: list[str]) -> None:
    """Nothing in its own text speaks of a device, but the call of it does."""
    body = "".join(f"    total = {number}\n" for number in range(50))
    text = f"import torch\n\n\ndef work(x, place):\n{body}    return x.to(place)\n\n\nwork(torch.ones(2), {given})\n"
    document = read("train.py", text.encode())

    assert [finding.rule for finding in engine.check(document, default_target(), RULES).findings] == found
