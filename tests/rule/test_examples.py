"""The examples of the rule files: each is found, mended exactly as written, and silent afterwards."""

from __future__ import annotations

import ast
import itertools
import json

import pytest

from mpslint.core.finding import Finding
from mpslint.engine import check
from mpslint.rewrite.apply import fix
from mpslint.rule.loading import load_rules
from mpslint.rule.rule import Example, Rule
from mpslint.session.examples import asked, example_problems, target_of
from mpslint.source.document import Kind
from mpslint.source.reader import read
from tests.rule.cases import FOLDER, examples_of

RULES = load_rules()
CASES = [(rule, number, example) for rule in RULES for number, example in enumerate(examples_of(rule), start=1)]
SHOWN = 8
"""Examples that a rule file may have: a person who opens it wants to see what the rule is about."""
IDS = [f"{rule.id}-{number}-{'ok' if example.ok else 'bad'}" for rule, number, example in CASES]


def as_notebook(text: str) -> str:
    """Return a notebook with one cell for each top-level statement of a script."""
    lines = text.splitlines(keepends=True)
    starts = [node.lineno - 1 - len(getattr(node, "decorator_list", [])) for node in ast.parse(text).body]
    bounds = [*([0] if starts else []), *starts[1:], len(lines)]
    parts = ["".join(lines[a:b]) for a, b in itertools.pairwise(bounds)]
    cells = [{"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": part} for part in parts]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


@pytest.mark.parametrize(("rule", "number", "example"), CASES, ids=IDS)
def test_example(rule: Rule, number: int, example: Example) -> None:
    """`bad` is found and mended to exactly `good`; `good` and `ok` are silent, and nothing is left to do."""
    assert example_problems(rule, example, RULES) == []


PYTHON_CASES = [case for case in CASES if case[2].file.endswith(".py") and case[2].bad and not case[2].known_miss]


@pytest.mark.parametrize(("rule", "number", "example"), PYTHON_CASES, ids=[f"{r.id}-{n}" for r, n, _ in PYTHON_CASES])
def test_example_split_over_cells(rule: Rule, number: int, example: Example) -> None:
    """The same code split over notebook cells gives the same findings, at the same source text."""
    if rule.id in SCRIPT_ONLY:
        pytest.skip("about scripts only")
    document = read("split.ipynb", as_notebook(example.bad).encode(), Kind.NOTEBOOK)
    script = read(example.file, example.bad.encode())
    in_cells = check(document, target_of(example), asked(rule, RULES)).findings
    in_script = check(script, target_of(example), asked(rule, RULES)).findings

    def spoken(findings: tuple[Finding, ...], text: str) -> list[tuple[str, str]]:
        return [(finding.message, text[finding.span.start : finding.span.end]) for finding in findings]

    assert spoken(in_cells, document.text) == spoken(in_script, script.text)


@pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])
def test_fixes_come_to_an_end(rule: Rule) -> None:
    """Also where an example doesn't say what they make of it: a fix that leaves what it is about would be made again and again."""
    for example in examples_of(rule):
        if example.bad and not example.good and not example.known_miss:
            fix(read(example.file, example.bad.encode()), target_of(example), asked(rule, RULES), unsafe=True)


SCRIPT_ONLY = frozenset(rule.id for rule in RULES if "scripts only" in rule.title or "notebooks only" in rule.title)


def test_each_case_is_of_a_rule() -> None:
    """A file whose rule is gone would test nothing, and nobody would see it."""
    assert {path.stem for path in FOLDER.glob("*.yaml")} <= {rule.id for rule in RULES}


@pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])
def test_rule_file(rule: Rule) -> None:
    """A rule has an example of each kind, its file is named after it, and every fix that is written has a `good`."""
    assert rule.path.name == f"{rule.id}-{rule.name}.yaml"
    assert any(example.bad for example in rule.examples), "no bad example"
    assert any(example.ok for example in rule.examples), "no ok example"
    assert len(rule.examples) <= SHOWN, "more than show what the rule is about: the others are cases of tests/rule/cases"
    assert all(outcome.message.endswith((".", '."')) for outcome in rule.outcomes), "a message is a sentence"
