"""No run fails on shapes that are only assumed; on drawn lengths it fails only where three distributions of them agree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from mpslint.cli import group
from mpslint.engine import check
from mpslint.source.reader import read
from mpslint.target.target import default_target
from mpslint.verify.assumed import distributions, without_invented_failures
from mpslint.verify.from_plan import spec_of
from mpslint.verify.outcome import Check, RunResult, Status
from mpslint.verify.reading import choose, runs_of
from mpslint.verify.spec import Lengths, RunSpec, Shapes

RESULT = RunResult("run", "emulated")


def checks(**statuses: Status) -> list[Check]:
    """Return checks by name, `_` for a blank."""
    return [Check(name.replace("_", " "), status, "why.") for name, status in statuses.items()]


def spec(shapes: Shapes = "drawn") -> RunSpec:
    """Return a run whose lengths rest on something."""
    return RunSpec("t5-small", "seq2seq_lm", Lengths(1024, 400), target=Lengths(128, 100), shapes=shapes)


def told(run: RunSpec, result: RunResult, others: Sequence[tuple[RunResult, Sequence[Check]]], **statuses: Status) -> dict[str, Check]:
    """Return what is told of checks, where other lengths give others."""
    found = without_invented_failures(run, result, checks(**statuses), lambda specs: others)
    return {check.name: check for check in found}


def test_shapes_that_are_known_are_judged_as_they_are() -> None:
    """What does not fit does not fit."""
    assert told(spec("known"), RESULT, [], fits="fail")["fits"].status == "fail"
    assert told(spec("assumed"), RESULT, [], fits="fail")["fits"].status == "inconclusive"


def test_assumed_shapes_fail_nothing_that_they_decide() -> None:
    """Precision does not depend on them."""
    found = told(spec("assumed"), RESULT, [], driver_memory="fail", compiled_graphs="fail", precision="fail", fits="pass")
    assert {name: one.status for name, one in found.items()} == {
        "driver memory": "inconclusive", "compiled graphs": "inconclusive", "precision": "fail", "fits": "pass",
    }  # fmt: skip
    assert found["driver memory"].is_doubted
    assert found["driver memory"].reason.endswith("the shapes of the batches are assumed")


def test_drawn_lengths_fail_where_three_distributions_agree() -> None:
    """A run that dies early under one of them does not speak against the rest."""
    dead = (RunResult("run", "emulated", out_of_memory=3), checks(driver_memory="fail"))
    fails = (RESULT, checks(driver_memory="fail", compiled_graphs="fail"))
    sound = (RESULT, checks(driver_memory="pass", compiled_graphs="fail"))
    found = told(spec(), RESULT, [dead, fails], driver_memory="fail", compiled_graphs="fail")
    assert [one.status for one in found.values()] == ["fail", "fail"]
    assert found["driver memory"].reason == "why; also with drawn lengths of median 160 and 640"
    found = told(spec(), RESULT, [sound, fails], driver_memory="fail", compiled_graphs="fail")
    assert [one.status for one in found.values()] == ["inconclusive", "fail"]
    assert "it fails with 2 of 3 distributions" in found["driver memory"].reason


def test_the_other_distributions_are_shorter_and_longer() -> None:
    """No median passes the limit, and lengths that are fixed stay so."""
    shorter, longer = distributions(spec())
    assert (shorter.source.median, longer.source.median) == (160, 640)
    assert shorter.target is not None
    assert longer.target is not None
    assert (shorter.target.median, longer.target.median) == (40, 128)
    assert [one.source for one in distributions(RunSpec("x", "causal_lm", Lengths(64)))] == [Lengths(64), Lengths(64)]


MODEL = """\
import torch
from transformers import {0}, GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config(vocab_size=500, n_positions=256, n_embd=64, n_layer=2, n_head=2)).to("mps")
"""
LOOP = """\
loader = torch.utils.data.DataLoader({1})
optimizer = torch.optim.AdamW(model.parameters())
for epoch in range(50):
    for ids in loader:
        model(input_ids=ids.to("mps"), labels=ids.to("mps")).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""
TRAINER = 'Trainer(model, TrainingArguments("out", max_steps=500), train_dataset=data{1}).train()\n'
TRAINERS = "AutoTokenizer, DataCollatorWithPadding, DefaultDataCollator, Trainer, TrainingArguments, default_data_collator"
FIXED = ("max_length", 256, 0, "assumed")
"""Padding, limit, median and shapes of a run whose samples are stacked."""


@pytest.mark.parametrize(
    ("code", "given", "expected"),
    [
        (LOOP, "data, batch_size=4", FIXED),
        (LOOP, "data, 4, True, None, None, 0, None", FIXED),
        (LOOP, "data, batch_size=4, collate_fn=torch.utils.data.default_collate", FIXED),
        (LOOP, "data, batch_size=4, collate_fn=collate", ("longest", 256, 95, "assumed")),
        (LOOP, "data", ("longest", 256, 95, "assumed")),
        (LOOP, "data, batch_size=1", ("longest", 256, 95, "assumed")),
        (LOOP, "data, batch_sampler=options", ("longest", 256, 95, "assumed")),
        (LOOP, "data, batch_size=4, **options", ("longest", 256, 95, "assumed")),
        (TRAINER, "", FIXED),
        (TRAINER, ", data_collator=default_data_collator", FIXED),
        (TRAINER, ", data_collator=DefaultDataCollator()", FIXED),
        (TRAINER, ", processing_class=AutoTokenizer.from_pretrained('gpt2')", ("longest", 256, 95, "drawn")),
        (TRAINER, ", data_collator=DataCollatorWithPadding(AutoTokenizer.from_pretrained('gpt2'))", ("longest", 256, 95, "drawn")),
        (TRAINER, ", data_collator=collate", ("longest", 256, 95, "assumed")),
    ],
)
def test_what_makes_the_batches_says_whether_shapes_vary(code: str, given: str, expected: tuple[object, ...]) -> None:
    """Torch's own collation, and what transformers does without a tokenizer, stack; `n_positions` in the file beats the family's 1,024."""
    text = (MODEL + "data, collate, options = make()\n" + code).format(TRAINERS, given)
    checked = check(read("train.py", text.encode()), default_target())
    runs = runs_of(checked)
    found = spec_of(runs[choose(runs, None, "train.py")], "as written").spec
    assert (found.padding, found.source.limit, found.source.median, found.shapes) == expected


@pytest.mark.parametrize(("collate", "word"), [("", "PASS"), (", collate_fn=collate", "INCONCLUSIVE")])
def test_what_settles_it_is_the_last_line(collate: str, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stacked samples of 256 tokens pass; where another function makes the batches they may vary, which would fill the memory."""
    pytest.importorskip("torch")
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "train.py"
    code = (MODEL + "data, collate, options = make()\n" + LOOP).format(TRAINERS, f"data, batch_size=4{collate}")
    path.write_text(code.replace("vocab_size=500", "vocab_size=50257"))
    result = CliRunner().invoke(group, ["verify", "--plan", "--isolated", "--torch", "2.13", "--memory", "8GB", str(path)])
    assert result.exit_code == 0, result.output
    lines = result.output.strip().splitlines()
    assert f"as written: {word}" in lines
    assert (lines[-1] == f"To settle it, run the file's own code: mpslint verify {path} --yes") is (word != "PASS"), lines


def test_what_settles_a_launched_run_is_what_starts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`verify launch.sh` runs the script with its arguments."""
    pytest.importorskip("torch")
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    code = (MODEL + "data, collate, options = make()\n" + LOOP).format(TRAINERS, "data, batch_size=4, collate_fn=collate")
    (tmp_path / "train.py").write_text(code.replace("vocab_size=500", "vocab_size=50257"))
    (tmp_path / "launch.sh").write_text("#!/bin/sh\npython train.py --fast\n")
    result = CliRunner().invoke(group, ["verify", "--plan", "--isolated", "--torch", "2.13", "--memory", "8GB", "launch.sh"])
    said = "To settle it, run the file's own code: mpslint verify launch.sh --yes"
    assert result.output.strip().splitlines()[-1] == said, result.output
