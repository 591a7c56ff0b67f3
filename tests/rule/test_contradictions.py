"""Rules that contradict each other about the same fact aren't loaded; rules that only meet are."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.core.finding import RuleError
from mpslint.core.versions import VersionRange
from mpslint.rule.contradictions import refuse_contradictions
from mpslint.rule.loading import load_rules
from tests.contradictions import ContradictionError, refuse_false_claims

RULE = """\
id: {id}
name: {name}
title: A rule of a team
when: {when}
outcomes:
{outcomes}
fix: {{safety: manual, advice: Change it.}}
why: A team says so.
examples:
  - ok: |
      x = 1
sources: [a team]
"""
ABOVE = "{setting: training.steps, above: 512}"


def place(folder: Path, name: str, when: str, *outcomes: tuple[str, str]) -> None:
    """Write a rule with outcomes of (versions, severity)."""
    lines = "\n".join(f'  - {{versions: "{versions}", severity: {severity}, message: x}}' for versions, severity in outcomes)
    (folder / f"{name}.yaml").write_text(RULE.format(id=f"TEAM{len(list(folder.iterdir())):03}", name=name, when=when, outcomes=lines))


@pytest.mark.parametrize(
    ("when", "versions", "at"),
    [
        (ABOVE, "", "in every version"),
        (ABOVE, "torch < 2.10", "torch 2.9.99"),
        ("{setting: training.steps, at_least: 600}", "", "in every version"),
        ("[{setting: training.steps, is: 1024}, {trains: true}]", "torch >= 2.8, macos < 15", "macos 14.99"),
    ],
)
def test_rules_that_say_opposite_things_are_refused(tmp_path: Path, when: str, versions: str, at: str) -> None:
    """One line names both rules, what each says, and versions in which they meet: also where one is a case of the other."""
    place(tmp_path, "first", ABOVE, ("", "error"))
    place(tmp_path, "second", when, (versions, "note"))

    with pytest.raises(RuleError, match=r"TEAM00\d calls (note|error) what TEAM00\d \(.*\) calls (note|error) ") as raised:
        load_rules((tmp_path,))

    assert at in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("when", "outcomes"),
    [
        (ABOVE, [("", "error")]),
        (ABOVE, [("torch < 2.14", "error"), ("", "note")]),
        (ABOVE, [("torch >= 2.14", "note")]),
        ("{setting: training.steps, above: 256}", [("torch >= 2.14", "note")]),
        ("{setting: training.steps, below: 512}", [("", "note")]),
        ("{setting: batch.eval, above: 512}", [("", "note")]),
        ("[{setting: batch.eval, above: 1}, {setting: training.steps, above: 512}]", [("", "note")]),
    ],
)
def test_rules_that_agree_or_are_about_something_else_are_loaded(tmp_path: Path, when: str, outcomes: list[tuple[str, str]]) -> None:
    """The same severity, versions that don't overlap, or another place."""
    place(tmp_path, "first", ABOVE, ("torch < 2.14", "error"))
    place(tmp_path, "second", when, *outcomes)

    assert sum(rule.id.startswith("TEAM") for rule in load_rules((tmp_path,))) == 2


def test_an_exception_keeps_rules_apart(tmp_path: Path) -> None:
    """`unless` of one rule is a condition of the other."""
    place(tmp_path, "first", ABOVE + "\nunless: {role: trainer}", ("", "error"))
    place(tmp_path, "second", f"[{ABOVE}, {{role: trainer}}]", ("", "note"))

    assert sum(rule.id.startswith("TEAM") for rule in load_rules((tmp_path,))) == 2


def test_a_rule_that_contradicts_a_shipped_one_is_refused(tmp_path: Path) -> None:
    """fp16 of accelerate 0.22 isn't a note."""
    place(tmp_path, "ours", "{setting: precision.mixed, is: fp16}", ("accelerate < 0.30", "note"))

    with pytest.raises(RuleError, match=r"TEAM000 calls note what MPS101 \(.*\) calls warning with accelerate"):
        load_rules((tmp_path,))


def test_the_shipped_rules_agree() -> None:
    """None contradicts another."""
    refuse_contradictions(load_rules(), load_rules())


def test_a_claim_is_held_to_the_behaviours() -> None:
    """accelerate 0.20 ignores fp16, 0.22 runs it without scaling, if torch has autocast for MPS."""
    refuse_false_claims({"precision.accelerator.fp16": "wrong"}, VersionRange.parse("accelerate >= 0.22, accelerate < 0.30, torch >= 2.5"))

    with pytest.raises(ContradictionError, match=r"say ignored with accelerate 0\.2"):
        refuse_false_claims({"precision.accelerator.fp16": "wrong"}, VersionRange.parse("accelerate >= 0.20, accelerate < 0.30"))


@pytest.mark.parametrize("shipped", ["MPS101", "MPS111", "MPS301", "MPS503", "MPS807"])
def test_a_copy_of_a_shipped_rule_agrees_with_it(tmp_path: Path, shipped: str) -> None:
    """Also one whose outcomes have conditions of their own."""
    text = next((Path(__file__).parents[2] / "rules").glob(f"*/{shipped}-*.yaml")).read_text()
    (tmp_path / "own.yaml").write_text(text.replace(f"id: {shipped}", "id: OWN101"))
    assert any(rule.id == "OWN101" for rule in load_rules((tmp_path,)))
