"""The examples of the rule files: each is found, mended exactly as written, and silent afterwards."""

from __future__ import annotations

import ast
import itertools
import json
import re
from dataclasses import replace

import pytest

from mpslint.engine import check
from mpslint.finding import Finding
from mpslint.rewrite.apply import fix
from mpslint.rule import Example, Rule, load_rules
from mpslint.source.document import Kind
from mpslint.source.reader import read
from mpslint.target import Target, default_target, with_versions

RULES = load_rules()
CASES = [(rule, number, example) for rule in RULES for number, example in enumerate(rule.examples, start=1)]
IDS = [f"{rule.id}-{number}-{'ok' if example.ok else 'bad'}" for rule, number, example in CASES]


def target_of(example: Example) -> Target:
    """Return the Target that an example is for."""
    given = {name: version for name, version in example.target.items() if name not in ("memory", "chip")}
    target = with_versions(default_target(), given, "example")
    target = replace(target, chip=example.target.get("chip", target.chip))
    return replace(target, memory_gib=int(example.target["memory"])) if "memory" in example.target else target


def asked(rule: Rule) -> tuple[Rule, ...]:
    """Return the rule alone, or all of them where it is about what the others find."""
    return RULES if rule.when[0].subject == "suppression" else (rule,)


def found(text: str, example: Example, rule: Rule) -> list[Finding]:
    """Return what a rule finds in a text."""
    document = read(example.file, text.encode())
    checked = check(document, target_of(example), asked(rule))
    return [finding for finding in checked.findings if finding.rule == rule.id]


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
    if example.ok:
        assert [finding.message for finding in found(example.ok, example, rule)] == []
        return
    findings = found(example.bad, example, rule)
    if example.known_miss:
        assert not findings, "this known miss is found now: take the mark away"
        return
    assert findings, "bad is not found"
    for finding in findings:
        assert not re.search(r"\{\w+\}", finding.message), f"a placeholder is not filled: {finding.message}"
        assert finding.fix is None or not re.search(r"\{\w+\}", finding.fix.summary), finding.fix
    if not example.good:
        return
    document = read(example.file, example.bad.encode())
    fixed = fix(document, target_of(example), asked(rule), unsafe=example.unsafe)
    assert fixed.data.decode() == example.good
    assert not found(example.good, example, rule), "good is not silent"
    again = fix(read(example.file, fixed.data), target_of(example), asked(rule), unsafe=example.unsafe)
    assert again.data == fixed.data


PYTHON_CASES = [case for case in CASES if case[2].file.endswith(".py") and case[2].bad and not case[2].known_miss]


@pytest.mark.parametrize(("rule", "number", "example"), PYTHON_CASES, ids=[f"{r.id}-{n}" for r, n, _ in PYTHON_CASES])
def test_example_split_over_cells(rule: Rule, number: int, example: Example) -> None:
    """The same code split over notebook cells gives the same findings, at the same source text."""
    if rule.id in SCRIPT_ONLY:
        pytest.skip("about scripts only")
    document = read("split.ipynb", as_notebook(example.bad).encode(), Kind.NOTEBOOK)
    script = read(example.file, example.bad.encode())
    in_cells = check(document, target_of(example), asked(rule)).findings
    in_script = check(script, target_of(example), asked(rule)).findings

    def spoken(findings: tuple[Finding, ...], text: str) -> list[tuple[str, str]]:
        return [(finding.message, text[finding.span.start : finding.span.end]) for finding in findings]

    assert spoken(in_cells, document.text) == spoken(in_script, script.text)


SCRIPT_ONLY = frozenset(rule.id for rule in RULES if "scripts only" in rule.title or "notebooks only" in rule.title)


@pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])
def test_rule_file(rule: Rule) -> None:
    """A rule has an example of each kind, its file is named after it, and every fix that is written has a `good`."""
    assert rule.path.name == f"{rule.id}-{rule.name}.yaml"
    assert any(example.bad for example in rule.examples), "no bad example"
    assert any(example.ok for example in rule.examples), "no ok example"
    assert all(outcome.message.endswith((".", '."')) for outcome in rule.outcomes), "a message is a sentence"
