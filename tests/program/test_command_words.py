"""Programs that set the words of their command line themselves, as notebooks do: `sys.argv = ["train.py", "--fp16"]`."""

from __future__ import annotations

import pytest

from mpslint.api import check, fix

PARSER = """\
import argparse, sys
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
{words}
args = parser.parse_args({given})
model = torch.nn.Linear(2, 2).to(args.device)
"""


def rules_of(words: str, given: str = "") -> list[str]:
    return [one.rule for one in check(PARSER.format(words=words, given=given)).findings]


@pytest.mark.parametrize(
    "words",
    [
        'sys.argv = ["train.py", "--device", "cuda"]',
        'sys.argv = ["train.py"]\nsys.argv += ["--device", "cuda"]',
        'sys.argv = [""]\nsys.argv.extend(["--device", "cuda"])',
        'sys.argv = [sys.argv[0], "--device=cuda"]',
    ],
)
def test_words_that_the_program_sets_are_read(words: str) -> None:
    assert rules_of(words) == ["MPS501"]


@pytest.mark.parametrize("words", ["", 'sys.argv = [""]', 'sys.argv = ["train.py", "--device", "mps"]', "sys.argv = words()"])
def test_without_such_words_the_default_holds(words: str) -> None:
    assert rules_of(words) == []


def test_a_default_that_nothing_overrides_is_certain() -> None:
    text = PARSER.replace('"cpu"', '"cuda"')
    certain = [text.format(words='sys.argv = [""]', given=""), text.format(words="", given="[]")]

    assert [[one.rule for one in check(one).findings] for one in certain] == [["MPS501"], ["MPS501"]]


def test_a_fix_leaves_the_words_alone() -> None:
    text = (
        "import sys\n"
        "from transformers import AutoModelForSequenceClassification, HfArgumentParser, Trainer, TrainingArguments\n"
        'sys.argv = ["train.py", "--output_dir", "out", "--fp16"]\n'
        "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n"
        'model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")\n'
        "Trainer(model, args).train()\n"
    )

    assert "MPS101" in [one.rule for one in check(text).findings]
    assert 'sys.argv = ["train.py", "--output_dir", "out", "--fp16"]\n' in fix(text).text
