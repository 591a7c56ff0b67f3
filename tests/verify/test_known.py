"""One number on what fits: `plan --estimate`, `fix --fit`, `check` and `verify` say the same sentence, and rewrite to the same batch."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mpslint.cli import group

SCRIPT = """\
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("gpt2")
tokenizer.pad_token = tokenizer.eos_token
rows = tokenizer(["a b c"] * 640, padding="max_length", truncation=True, max_length=1024)
data = [{{"input_ids": ids, "labels": ids}} for ids in rows["input_ids"]]
model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=64))
args = TrainingArguments("out", per_device_train_batch_size={batch}, max_steps=9, report_to="none", save_strategy="no")
Trainer(model, args, train_dataset=data).train()
"""
MAC = ("--isolated", "--torch", "2.15", "--memory", "16GB")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test a cache of its own."""
    pytest.importorskip("transformers")
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path / "cache"))


def call(*arguments: object) -> Result:
    """Call mpslint."""
    return CliRunner().invoke(group, [str(argument) for argument in arguments])


def said(text: str) -> list[str]:
    """Return the sentences on what fits."""
    return re.findall(r"largest micro-batch on a .*\)", text)


def test_all_say_the_same_number_of_a_run_that_ends_in_memory(tmp_path: Path) -> None:
    """The estimate goes on where the Mac's memory ends; verify's rewrite has the batch that fix writes."""
    path = tmp_path / "train.py"
    path.write_text(SCRIPT.format(batch=64))
    assert said(call("check", path, *MAC).stdout) == []  # nothing was worked out yet
    plan = call("plan", path, "--estimate", *MAC)
    assert plan.exit_code == 0, plan.output
    (sentence,) = said(plan.stdout)
    written, rewritten = map(int, re.findall(r"(\d+) as \w+", sentence))
    assert 8 <= rewritten < 32
    assert 8 <= written < 32

    fix = call("fix", path, "--fit", "--diff", *MAC)
    (split,) = re.findall(r"else (\d+), max_steps", fix.stdout)
    assert said(fix.stderr) == [sentence]
    assert int(split) <= rewritten < 2 * int(split)

    assert said(call("check", path, *MAC).stdout) == [sentence]
    assert said(call("check", path, "--isolated", "--torch", "2.15", "--memory", "8GB").stdout) == []

    report = json.loads(call("verify", path, *MAC, "--yes", "--backend", "emulated", "--format", "json").stdout)
    assert report["reading"]["fits"] == sentence
    assert any(f"else {split}, gradient" in line for line in report["reading"]["rewrites"])
    assert [verdict["status"] for verdict in report["verdicts"]] == ["fail", "pass"]
    (memory,) = (check for check in report["verdicts"][0]["checks"] if check["name"] == "fits")
    assert "the peak of at least " in memory["reason"]

    path.write_text(SCRIPT.format(batch=63))
    assert said(call("check", path, *MAC).stdout) == []


def test_a_batch_that_does_not_fit_and_is_not_split_fails(tmp_path: Path) -> None:
    """12 x 1024 tokens are too few for the rule that splits batches, and too many for 8 GB: never "Nothing to fix"."""
    path = tmp_path / "train.py"
    path.write_text(SCRIPT.format(batch=12))
    fix = call("fix", path, "--fit", "--isolated", "--torch", "2.15", "--memory", "8GB", "--select", "MPS201")
    assert fix.exit_code == 1
    assert re.search(r"the micro-batch of 12 doesn't fit, and no fix splits it: train on \d+ at a time", fix.stderr)
    assert "Nothing to fix" not in fix.stdout
