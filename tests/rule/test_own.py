"""The rule files of a user: which files of a folder are rules, and what they may replace."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mpslint.core.finding import RuleError
from mpslint.rule.loading import load_rules
from tests.rule.test_pages import ROOT, block, run


def write(path: Path, text: str) -> None:
    """Write a file and the folder it lies in."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_data_beside_rules_is_no_rule(tmp_path: Path) -> None:
    """Mappings and lists of other keys are skipped, and rules one folder down are read."""
    write(tmp_path / "mine" / "roles.yaml", "trainer: {means: a Trainer, run: trainer}\narguments: {means: its arguments}\n")
    write(tmp_path / "mine" / "messages.yaml", "- {id: flux, title: Empty, patterns: [a]}\n")
    write(tmp_path / "mine" / "empty.yaml", "")
    (tmp_path / "mine" / "memory").mkdir()
    write(tmp_path / "mine" / "memory" / "TEAM001-large-evaluation-batch.yaml", block("rule"))

    assert [rule.id for rule in load_rules((tmp_path / "mine",)) if not rule.id.startswith("MPS")] == ["TEAM001"]


@pytest.mark.parametrize("change", [("id: TEAM001", "idd: TEAM001"), ("when:", "whenn:"), ("message:", "mesage:")])
def test_a_misspelt_rule_is_not_taken_for_data(tmp_path: Path, change: tuple[str, str]) -> None:
    """One wrong key leaves the others, which only rules have."""
    assert change[0] in block("rule")
    write(tmp_path / "mine" / "a.yaml", block("rule").replace(*change))

    with pytest.raises(RuleError, match=r"a\.yaml"):
        load_rules((tmp_path / "mine",))


def test_several_rules_in_a_file_are_refused(tmp_path: Path) -> None:
    """They are not skipped as data, and neither is a data file that is named itself."""
    write(tmp_path / "mine" / "a.yaml", "- {id: TEAM001, when: {setting: batch.eval}}\n")
    write(tmp_path / "data.yaml", "[]\n")

    for place in (tmp_path / "mine", tmp_path / "data.yaml"):
        with pytest.raises(RuleError, match="one mapping"):
            load_rules((place,))


def test_the_rules_of_another_checkout_are_tested_in_place_of_ours(tmp_path: Path) -> None:
    """A copy of a shipped rule, changed so that an example fails, is what runs; a configuration may not replace one."""
    shipped = next((ROOT / "rules").rglob("MPS202-*.yaml"))
    copy = tmp_path / "rules" / "memory" / shipped.name
    copy.parent.mkdir(parents=True)
    shutil.copy(ROOT / "rules" / "roles.yaml", tmp_path / "rules")
    shutil.copy(shipped, copy)
    good = run(tmp_path, "rules", "--test", "rules")
    copy.write_text(copy.read_text().replace("    bad: ", "    ok: ", 1))
    bad = run(tmp_path, "rules", "--test", "rules")
    write(tmp_path / "mpslint.toml", 'rules = ["rules"]\n')
    refused = run(tmp_path, "check", ".")

    assert (good.stdout.split(",")[0], good.stdout.rpartition(": ")[2], good.stderr, good.returncode) == ("1 rule", "all passed.\n", "", 0)
    assert "ok is reported" in bad.stdout
    assert bad.returncode == 1
    assert "the id MPS202 is taken" in refused.stderr
    assert refused.returncode == 2


def test_a_folder_that_the_configuration_names_too_is_read_once(tmp_path: Path) -> None:
    """However each of them spells it."""
    write(tmp_path / "my_rules" / "TEAM001-large-evaluation-batch.yaml", block("rule"))
    write(tmp_path / "mpslint.toml", 'rules = ["my_rules"]\n')
    done = run(tmp_path, "rules", "--test", "my_rules/../my_rules")

    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.startswith("1 rule,")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("once: runs", r"rule: `once` is one of true, false, run, plan, not 'runs'; did you mean 'run'\?"),
        ("at: origins", r"rule: `at` is one of setting, origin, not 'origins'; did you mean 'origin'\?"),
        ("unless: {uses: mps, options: {in_runs: true}}", r"unless: options of `uses`: unknown key 'in_runs'; did you mean 'in_run'\?"),
        ("unless: {method: cuda, options: {reciever: true}}", r"options of `method`: unknown key 'reciever'; did you mean 'receiver'\?"),
        ("unless: {call: print, options: {receiver: true}}", r"options of `call`: unknown key 'receiver'; known keys: here"),
        ("unless: {certain: maybe}", r"unless: `certain` is one of true, false, not 'maybe'"),
        ("unless: {certain: [ImportError]}", r"unless: `certain` is one of true, false, not \['ImportError'\]"),
        ("unless: {call: print, in_loop: trainin}", r"unless: `in_loop` is one of true, false, training, not 'trainin'; did you mean"),
    ],
)
def test_a_word_that_a_key_does_not_take_is_refused(tmp_path: Path, line: str, says: str) -> None:
    """It isn't taken for one that means nothing: the rule would find more, or less, than it says."""
    write(tmp_path / "mine" / "a.yaml", f"{block('rule')}\n{line}\n")

    with pytest.raises(RuleError, match=says):
        load_rules((tmp_path / "mine",))


def test_no_topic_guards_nothing(tmp_path: Path) -> None:
    """An empty list of topics leaves no code alone, where it stands under whatever test."""
    write(tmp_path / "mine" / "a.yaml", f"{block('rule')}\nunless_guarded: []\n")

    rule = next(rule for rule in load_rules((tmp_path / "mine",)) if rule.id == "TEAM001")
    assert rule.unless_guarded is None
