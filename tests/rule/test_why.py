"""`mpslint rules --why FILE RULE` names what keeps a rule silent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from mpslint.cli import group
from mpslint.core.finding import ReadError, UsageError
from mpslint.rule.loading import load_rules
from mpslint.rule.rule import Example
from mpslint.session.examples import example_problems

TRAINER = """from transformers import Trainer, TrainingArguments
args = TrainingArguments("out", {arguments})
trainer = Trainer(model, args, train_dataset=data)
trainer.train()
"""
CASES = {
    "another value": (TRAINER.format(arguments="fp16=False"), "MPS101", "precision.mixed is 'no' at train.py, line 2"),
    "a default": (TRAINER.format(arguments=""), "MPS301", "padding.shapes is 'fixed' by default"),
    "another condition": (TRAINER.format(arguments=""), "MPS401", "does not hold (evaluation.metrics is False by default)"),
    "no call": ("import torch\nprint(torch.__version__)\n", "MPS122", "nothing in the file calls it"),
    "a test around it": ("import torch\nif torch.cuda.is_available():\n    torch.cuda.synchronize()\n", "MPS506", "holds nowhere"),
    "no framework": ("print(1)\n", "MPS101", "names no framework"),
    "it is found": ("import torch\nx = torch.ones(3).to('cuda')\n", "MPS501", "train.py, line 2: it is found here"),
    "beside others": (TRAINER.format(arguments="dataloader_pin_memory=True"), "MPS601", "line 2: it is found here, and told beside other"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_reason_is_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, rule, said = CASES[name]
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(text)

    result = CliRunner().invoke(group, ["rules", "--why", "train.py", rule])

    assert result.exit_code == 0
    assert said in result.output


def test_standard_input_is_read() -> None:
    result = CliRunner().invoke(group, ["rules", "--why", "-", "MPS501"], input="import torch\nx = torch.ones(3).to('cuda')\n")

    assert "line 2: it is found here" in result.output


def test_versions_that_a_rule_does_not_speak_of_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("import torch\n")
    silent = next(rule for rule in load_rules() if all("torch <" in str(one.versions) for one in rule.outcomes))

    result = CliRunner().invoke(group, ["rules", "--why", "train.py", silent.id])

    assert f"it speaks of {silent.outcomes[0].versions}" in result.output


@pytest.mark.parametrize(
    ("words", "error"), [(["absent.py", "MPS101"], ReadError), ([".", "MPS101"], ReadError), (["train.py", "MPS999"], UsageError)]
)
def test_what_does_not_exist_is_an_error(words: list[str], error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("import torch\n")

    assert isinstance(CliRunner().invoke(group, ["rules", "--why", *words]).exception, error)


def test_an_example_that_is_not_reported_says_why() -> None:
    rule = next(one for one in load_rules() if one.id == "MPS101")
    example = Example(bad=TRAINER.format(arguments="fp16=False"))

    problems = example_problems(replace(rule, examples=(example,)), example, load_rules())

    assert any(line.startswith("bad is not reported; ") and "precision.mixed is 'no'" in line for line in problems)


def test_a_rule_that_the_configuration_leaves_out_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(CASES["it is found"][0])
    Path("mpslint.toml").write_text('ignore = ["MPS501"]\n')

    result = CliRunner().invoke(group, ["rules", "--why", "train.py", "MPS501"])

    assert "the configuration leaves the rule out" in result.output
