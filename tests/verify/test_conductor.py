"""Most steps of a run are played from the recordings of a few, and come to the same as when they run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mpslint.verify.outcome import Check, RunResult, StepRecord
from mpslint.verify.process import ChildLimits
from mpslint.verify.script import ScriptOptions, verify_script
from mpslint.verify.spec import VerifiedMac

pytest.importorskip("torch")

CODE = """\
import random
import torch
from torch import nn

random.seed(0)
torch.mps.set_per_process_memory_fraction({fraction})
rows = [torch.ones(length, dtype=torch.long) for length in {lengths}]

def collate(rows):
    return {{"tokens": nn.utils.rnn.pad_sequence(rows, batch_first=True)}}

body = nn.TransformerEncoderLayer({width}, 2, 4 * {width}, batch_first=True)
model = nn.Sequential(nn.Embedding(100, {width}), body, body, nn.Linear({width}, 100)).to("mps")
optimizer = torch.optim.AdamW(model.parameters())
kept = []
for epoch in range(20):
    for number, batch in enumerate(torch.utils.data.DataLoader(rows, batch_size=4, collate_fn=collate)):
        tokens = batch["tokens"].to("mps")
        loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        loss.backward()
        {then}
"""
STEP = "optimizer.step(); optimizer.zero_grad()"
VARYING = "[random.randint(16, 400) for _ in range(1200)]"
DEFAULT = VerifiedMac()
LIVE = 60
"""Steps that are run for comparison: an evaluation is due after half of them."""


def run(
    folder: Path, *, lengths: str = VARYING, then: str = STEP, width: int = 32, fraction: float = 1.7, machine: VerifiedMac = DEFAULT
) -> tuple[RunResult, RunResult]:
    """Return a training as it is played, and as its steps run."""
    path = folder / "train.py"
    path.write_text(CODE.format(lengths=lengths, then=then, width=width, fraction=fraction))
    options = ScriptOptions(machine, "emulated", limits=ChildLimits(seconds=300))
    played, live = verify_script(path, options), verify_script(path, replace(options, steps=LIVE, plays=False))
    assert len(played.runs) == len(live.runs) == 1, played.problem + live.problem
    return played.runs[0], live.runs[0]


def shown(result: RunResult, steps: int = LIVE // 2) -> list[StepRecord]:
    """Return the first steps of a run without the time that they took."""
    return [replace(record, seconds=0.0) for record in result.steps if record.what == "train"][:steps]


@pytest.mark.parametrize("version", ["2.13", "2.15"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lengths": "[400] * 1200"},
        {"then": f"if number % 3 == 2: {STEP}"},
        {"then": f"kept.append(loss); {STEP}"},
        {"then": f"{STEP}; torch.mps.empty_cache()"},
        {"lengths": "[32 * random.randint(1, 8) for _ in range(1200)]"},
    ],
    ids=["lengths", "fixed", "accumulated", "keeps its graphs", "empties the cache", "few lengths"],
)
def test_played_equals_live(tmp_path: Path, options: dict[str, str], version: str) -> None:
    """Live memory, peak, driver memory, blocks and graphs of every step, to the byte."""
    played, live = run(tmp_path, machine=VerifiedMac(version, 16), **options)  # type: ignore[arg-type]

    assert shown(played) == shown(live)
    assert len(shown(played, 1000)) == 200
    assert played.ran < 30


@pytest.mark.parametrize("version", ["2.13", "2.15"])
def test_memory_ends_at_the_same_step(tmp_path: Path, version: str) -> None:
    """Near the limit the allocator gives its cache back, and at the limit it raises, where the steps that run do, and for the same line."""
    then = f"kept.append(model(tokens)); {STEP}"
    played, live = run(tmp_path, then=then, fraction=0.04, machine=VerifiedMac(version, 16))

    assert 5 < live.out_of_memory < LIVE // 2
    assert shown(played) == shown(live)
    assert (played.out_of_memory, played.failure, played.failure_line) == (live.out_of_memory, live.failure, live.failure_line)
    assert (played.largest_peak, played.driver_peak) == (live.largest_peak, live.driver_peak)


def test_memory_that_ends_after_the_last_step_is_seen(tmp_path: Path) -> None:
    """The code ends while its steps are only recorded; what it does then is played, too."""
    code = CODE.format(lengths="[50] * 20", then=STEP, width=32, fraction=1.7).replace("range(20)", "range(1)")
    (tmp_path / "train.py").write_text(code + "torch.zeros(8, 2**30, device='mps')\n")
    (result,) = verify_script(tmp_path / "train.py", ScriptOptions(backend="emulated")).runs
    assert (result.out_of_memory, result.failure_line) == (6, "train.py:22")
    assert "Tried to allocate 32.00 GiB" in result.failure


def checks(folder: Path, lengths: str, *, width: int = 32, memory: int = 16) -> dict[str, Check]:
    """Return the checks of a training whose samples have some lengths."""
    (folder / "train.py").write_text(CODE.format(lengths=lengths, width=width, fraction=1.7, then=STEP))
    report = verify_script(folder / "train.py", ScriptOptions(VerifiedMac("2.13", memory), "emulated"))
    return {check.name: check for verdict in report.verdicts for check in verdict.checks}


def test_shapes_that_come_again_compile_nothing_new(tmp_path: Path) -> None:
    """Of 14 shapes the last ones are new in the second ten steps: that was taken to go on for 12,000 steps."""
    settling = "[16 * random.choice([1, 2, 2, 3, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]) for _ in range(1200)]"
    found = checks(tmp_path, settling)["compiled graphs"]
    assert found.status == "pass", found


def test_shapes_that_never_come_again_fail(tmp_path: Path) -> None:
    """Lengths of up to 4,000 tokens: nearly each batch has another."""
    found = checks(tmp_path, "[random.randint(16, 4000) for _ in range(1200)]")["compiled graphs"]
    assert found.status == "fail", found
    assert "in the last half of 200" in found.reason


def test_larger_batches_that_come_late_are_played(tmp_path: Path) -> None:
    """The first 80 batches are 200 times smaller than the rest."""
    found = checks(tmp_path, "[16] * 320 + [3200] * 880", width=4096, memory=8)
    assert (found["fits"].status, found["driver memory"].step) == ("fail", 81), found
    assert "memory runs out at step 81:" in found["driver memory"].reason
