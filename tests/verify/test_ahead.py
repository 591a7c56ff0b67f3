"""Batches that the code's own loader gives after the steps that were run say whether compiled graphs settle, and whether larger ones come."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.verify.outcome import Check
from mpslint.verify.script import ScriptOptions, verify_script
from mpslint.verify.spec import VerifiedMac

pytest.importorskip("torch")

from mpslint.verify.child.ahead import Fetched, new_graphs, shape_of

CODE = """\
import random
import torch
from torch import nn

random.seed(0)
lengths = {lengths}
rows = [torch.ones(length, dtype=torch.long) for length in lengths]

def collate(rows):
    return {{"tokens": nn.utils.rnn.pad_sequence(rows, batch_first=True)}}

model = nn.Sequential(nn.Embedding(100, {width}), nn.Linear({width}, {width}), nn.Tanh(), nn.Linear({width}, {width})).to("mps")
optimizer = torch.optim.SGD(model.parameters())
for epoch in range({epochs}):
    for batch in torch.utils.data.DataLoader(rows, batch_size=4, collate_fn=collate):
        model(batch["tokens"].to("mps")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
"""
SETTLING = "[16 * random.choice([1, 2, 2, 3, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]) for _ in range(1200)]"
CHANGING = "[random.randint(16, 4000) for _ in range(1200)]"
LONGER_LATER = "[16] * 100 + [400] * 1100"


def checks(folder: Path, lengths: str, *, width: int = 32, epochs: int = 40, memory: int = 16) -> dict[str, Check]:
    """Return the checks of a training whose samples have some lengths."""
    (folder / "train.py").write_text(CODE.format(lengths=lengths, width=width, epochs=epochs))
    report = verify_script(folder / "train.py", ScriptOptions(machine=VerifiedMac("2.13", memory), backend="emulated"))
    return {check.name: check for verdict in report.verdicts for check in verdict.checks}


def test_shapes_that_come_again_compile_nothing_new(tmp_path: Path) -> None:
    """Of 14 shapes the last ones are new in the second ten steps: that was taken to go on for 12,000 steps."""
    found = checks(tmp_path, SETTLING)["compiled graphs"]
    assert found.status == "pass", found


def test_shapes_that_never_come_again_fail(tmp_path: Path) -> None:
    """Lengths of up to 4,000 tokens: nearly each batch has another."""
    found = checks(tmp_path, CHANGING)["compiled graphs"]
    assert found.status == "fail", found
    assert "of 200, by the batches that its loader gives" in found.reason


def test_what_graphs_will_keep_is_carried_on_as_for_a_plan(tmp_path: Path) -> None:
    """Each new length keeps the one-hot labels of the loss: 20 steps leave room for them, those of the batches ahead don't."""
    code = CODE.format(lengths="[random.randint(16, 180) for _ in range(1200)]", width=32, epochs=40)
    loss = 'nn.functional.cross_entropy(head(model(batch["tokens"].to("mps"))).flatten(0, 1), batch["tokens"].to("mps").flatten())'
    code = code.replace('model(batch["tokens"].to("mps")).square().mean()', loss).replace(
        "optimizer =", 'head = nn.Linear(32, 64000).to("mps")\noptimizer ='
    )
    (tmp_path / "train.py").write_text(code)
    report = verify_script(tmp_path / "train.py", ScriptOptions(machine=VerifiedMac("2.13", 8), backend="emulated"))
    found = {check.name: check for verdict in report.verdicts for check in verdict.checks}
    assert (found["starts"].status, found["driver memory"].status) == ("pass", "fail")
    assert "because compiled graphs keep" in found["driver memory"].reason


def test_larger_batches_ahead_are_run(tmp_path: Path) -> None:
    """The first 25 batches are 25 times smaller than the rest: the run is done again, longer."""
    found = checks(tmp_path, LONGER_LATER, width=8192, memory=8)
    assert (found["fits"].status, found["starts"].reason[:2]) == ("pass", "60"), found


def test_larger_batches_that_are_not_reached_are_said(tmp_path: Path) -> None:
    """Ten steps of an epoch were run, and passed; the large batches begin at the 81st."""
    found = checks(tmp_path, "[16] * 320 + [12800] * 1100", width=8192, memory=8)["fits"]
    assert found.status == "inconclusive", found
    assert "later batches are up to 800.0 times as large" in found.reason


def test_what_the_loader_gives_is_fetched_over_passes() -> None:
    """A pass that ends begins again; a loader that gives nothing more, or fails, ends the look."""
    fetched = Fetched(rest=iter([[1]]), again=lambda: iter([[2], [3]]))
    fetched.look_ahead(6)
    assert len(fetched.shapes) == 6

    def failing() -> object:
        raise ValueError

    ends = Fetched(rest=iter([[1]]), again=tuple)
    ends.look_ahead(6)
    fails = Fetched(rest=iter([[1]]), again=failing)  # type: ignore[arg-type]
    fails.look_ahead(6)
    assert len(ends.shapes) == len(fails.shapes) == 1


def test_shapes_of_a_batch() -> None:
    """By name or in order, each once."""
    import torch

    one, two = torch.ones(2, 3), torch.ones(2)
    assert shape_of(one) == "2x3"
    assert shape_of({"a": one, "b": two, "c": one, "d": "text"}) == "2x3 2"
    assert shape_of([one, two]) == "2x3 2"
    assert shape_of(3) == ""


@pytest.mark.parametrize(
    ("compiled", "shapes", "each", "expected"),
    [
        ([40, 0, 0, 0], ["4x8"] * 8, 1, [0, 0, 0, 0]),
        ([40, 10, 0, 10], ["1", "2", "1", "3", "1", "4", "4"], 1, [0, 10, 0]),
        ([40, 2, 2, 2], ["1"] * 6, 1, [2, 2]),
        ([40, 10], ["1", "1", "1", "2", "2", "2", "2", "3"], 2, [0, 10]),
        ([40], ["1", "1"], 1, [0]),
    ],
    ids=["fixed", "each new one costs", "other causes go on", "accumulated", "one step"],
)
def test_graphs_of_the_steps_ahead(compiled: list[int], shapes: list[str], each: int, expected: list[float]) -> None:
    """A shape costs what new shapes cost so far, and nothing when it comes again."""
    assert list(new_graphs(compiled, shapes, each)) == expected
