"""One number on what fits: `plan --estimate`, `fix --fit`, `check` and `verify` say the same sentence, and rewrite to the same batch."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

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
    (split,) = re.findall(r"train_batch_size=(\d+) if torch", fix.stdout)
    assert said(fix.stderr) == [sentence]
    assert int(split) <= rewritten < 2 * int(split)

    assert said(call("check", path, *MAC).stdout) == [sentence]
    assert said(call("check", path, "--isolated", "--torch", "2.15", "--memory", "8GB").stdout) == []

    report = json.loads(call("verify", path, *MAC, "--yes", "--backend", "emulated", "--format", "json").stdout)
    assert report["reading"]["fits"] == sentence
    assert any(f"={split} if torch" in line for line in report["reading"]["rewrites"])
    assert [verdict["status"] for verdict in report["verdicts"]] == ["fail", "pass"]
    (memory,) = (check for check in report["verdicts"][0]["checks"] if check["name"] == "fits")
    assert "the peak of at least " in memory["reason"]

    path.write_text(SCRIPT.format(batch=63))
    assert said(call("check", path, *MAC).stdout) == []


def test_a_batch_that_does_not_fit_and_is_not_split_fails(tmp_path: Path) -> None:
    """12 x 1024 tokens are too few for the rule that splits batches, and too many for 8 GB: never "Nothing to fix".

    Nor does check say that nothing is wrong once that is known.
    """
    path = tmp_path / "train.py"
    path.write_text(SCRIPT.format(batch=12))
    asked = ("--isolated", "--torch", "2.15", "--memory", "8GB", "--select", "MPS201")
    assert "Nothing wrong" in call("check", path, *asked).stdout
    fix = call("fix", path, "--fit", *asked)
    assert fix.exit_code == 1
    assert re.search(r"the micro-batch of 12 doesn't fit, and no fix splits it: train on \d+ at a time", fix.stderr)
    assert "Nothing to fix" not in fix.stdout
    check = call("check", path, *asked)
    assert check.exit_code == 1
    assert "the micro-batch of 12 doesn't fit; largest micro-batch on a 8 GB Mac" in check.stdout
    assert "Nothing wrong" not in check.stdout


LOOP = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(nn.Linear(512, 4096), nn.ReLU(), nn.Linear(4096, 50000)).to("mps")
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(TensorDataset(torch.randn(4096, 512), torch.randint(0, 50000, (4096,))), batch_size={batch}, shuffle=True)
for epoch in range(3):
    for x, y in loader:
        {train}
"""
TRAIN = "loss = nn.functional.cross_entropy(model(x.to('mps')), y.to('mps')); optimizer.zero_grad(); loss.backward(); optimizer.step()"


def report_on(path: Path, *more: str) -> dict[str, Any]:
    """Return what verify says of a script."""
    found: dict[str, Any] = json.loads(call("verify", path, *MAC, "--yes", "--backend", "emulated", "--format", "json", *more).stdout)
    return found


def test_all_repeat_what_verify_found_of_an_own_loop(tmp_path: Path) -> None:
    """No plan describes it: its own code ran, after it was allowed, and nothing else runs it."""
    path = tmp_path / "train.py"
    path.write_text(LOOP.format(batch=32, train=TRAIN))
    assert "verify" in call("plan", path, "--estimate", *MAC).stderr  # nothing was kept yet
    report = report_on(path)
    assert said(report["fits"]) == [report["fits"]]
    (run, *_) = report["runs"]
    assert run["composition"]["peak"] == run["largest_peak"]

    plan = call("plan", path, "--estimate", *MAC)
    assert said(plan.stdout) == [report["fits"]], plan.output
    assert "samples/s" in plan.stdout
    assert said(call("check", path, *MAC).stdout) == [report["fits"]]
    assert said(call("fix", path, "--fit", *MAC).stderr) == [report["fits"]]
    assert report_on(path)["reading"]["fits"] == report["fits"]


def test_the_largest_batch_of_an_own_loop_is_the_largest_that_passes(tmp_path: Path) -> None:
    """One more row fails, for the peak or for driver memory; the loop died in its first step, so its memory is let go on."""
    path = tmp_path / "train.py"
    code = (
        LOOP.replace("50000", "200000")
        .replace("Linear(512, 4096)", "Linear(8, 64)")
        .replace("Linear(4096", "Linear(64")
        .replace("(4096, 512", "(40000, 8")
    )
    path.write_text(code.replace("(4096,)", "(40000,)").format(batch=10000, train=TRAIN))
    report = report_on(path)
    assert report["runs"][0]["out_of_memory"] == 1
    (largest,) = map(int, re.findall(r"(\d+) as written", report["fits"]))
    assert 1024 < largest < 10000
    assert call("fix", path, "--fit", *MAC).exit_code == 1
    text = path.read_text()
    for batch, status in ((largest, "pass"), (largest + 1, "fail")):
        path.write_text(text.replace("batch_size=10000", f"batch_size={batch}"))
        (check,) = (one for one in report_on(path)["verdicts"][0]["checks"] if one["name"] == "fits")
        assert check["status"] == status


@pytest.mark.parametrize(
    "train",
    [
        "h = torch.zeros(32, 512, device='mps'); " + TRAIN.replace("x.to('mps')", "x.to('mps') + h"),
        "\n        ".join(["if len(x) != 32:", "    raise RuntimeError('no such batch')", TRAIN]),
    ],
    ids=["a size written in the code", "an exception"],
)
def test_code_that_takes_its_own_batches_only_gets_its_verdict_all_the_same(tmp_path: Path, train: str) -> None:
    """It runs once more, on its own batches, and nothing is said of others."""
    path = tmp_path / "train.py"
    path.write_text(LOOP.format(batch=32, train=train))
    report = report_on(path)
    assert [verdict["status"] for verdict in report["verdicts"]] == ["pass"]
    assert (report["fits"], report["problem"]) == ("", "")
