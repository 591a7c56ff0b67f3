"""A safe fix leaves other machines as they are: with CUDA, the rewritten file has the settings that it had before."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from mpslint.program import evaluator
from mpslint.program.platform import with_cuda
from mpslint.rewrite.apply import fix
from mpslint.rule.loading import load_rules
from mpslint.rule.rule import Example, Rule
from mpslint.session.examples import target_of
from mpslint.settings.evidence import gather_evidence
from mpslint.settings.setting import load_vocabulary
from mpslint.source.document import Document
from mpslint.source.reader import read
from tests.rule.cases import examples_of

KEPT = frozenset(name for name, kind in load_vocabulary().items() if kind.elsewhere)
"""The settings whose old value is right on other machines."""


def settings_of(document: Document, example: Example) -> list[tuple[str, list[tuple[str, Any]]]]:
    """Return what each run of a file is told about the settings that are kept."""
    evidence = gather_evidence(document, document.python, target_of(example))
    found = []
    for plan in evidence.plans:
        said = [(name, setting.constant if setting.is_known else None) for name in sorted(KEPT) if (setting := plan.get(name)) is not None]
        found.append((plan.kind, said))
    return found


def examples() -> list[tuple[Rule, Example]]:
    """Return the examples in Python that are mended by safe fixes of one of the settings that are kept."""
    written = {"split_batch", "without_workers"}
    rules = [rule for rule in load_rules() if any(KEPT & set(fix.set) or fix.rewrite in written for fix in rule.fixes)]
    found = [(rule, example) for rule in rules for example in examples_of(rule) if example.good and not example.unsafe]
    return [(rule, example) for rule, example in found if example.file.endswith(".py")]


@pytest.mark.parametrize(("rule", "example"), [pytest.param(*one, id=f"{one[0].id}-{n}") for n, one in enumerate(examples())])
def test_with_cuda_nothing_changes(rule: Rule, example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fixed for the Mac, evaluated for a machine with CUDA: the settings are those of before."""
    before = read(example.file, example.bad.encode())
    after = read(example.file, fix(before, target_of(example), (rule,)).data)
    assert after.text != before.text
    monkeypatch.setattr(evaluator, "load_platform", with_cuda)
    assert settings_of(after, example) == settings_of(before, example)


def settings_kept_for_cuda() -> list[tuple[Rule, Example]]:
    """Return the examples in Python whose fix keeps an argument, of rules about settings, as it was where there is CUDA."""
    rules = [rule for rule in load_rules() if any("{old}" in text for fix in rule.fixes for text in fix.argument.values())]
    rules = [rule for rule in rules if any(condition.subject == "setting" for condition in rule.when)]
    found = [(rule, example) for rule in rules for example in examples_of(rule) if "is_available() else" in example.good]
    return [(rule, example) for rule, example in found if example.file.endswith(".py")]


@pytest.mark.parametrize(("rule", "example"), [pytest.param(*one, id=f"{one[0].id}-{n}") for n, one in enumerate(settings_kept_for_cuda())])
def test_with_cuda_the_whole_argument_is_kept(rule: Rule, example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    """`DDPStrategy(find_unused_parameters=True)` keeps its arguments there: the value is the one that was written."""
    monkeypatch.setattr(evaluator, "load_platform", with_cuda)

    def said(text: str) -> list[tuple[str, Any, list[str]]]:
        document = read(example.file, text.encode())
        evidence = gather_evidence(document, document.python, target_of(example))
        names = [name for condition in rule.when if condition.subject == "setting" for name in condition.names]
        found = [setting for plan in evidence.plans for name in names if (setting := plan.get(name)) is not None]
        makers = [ast.unparse(call.node) for call in evidence.facts.calls if "Strategy" in call.name]
        return [(setting.name, setting.constant if setting.is_known else None, makers) for setting in found]

    before = said(example.bad)
    assert before
    assert said(example.good) == before
