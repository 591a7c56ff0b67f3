"""What keeps the memory that a run dies of is named with its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mpslint.cli import group
from mpslint.verify.outcome import Check
from mpslint.verify.script import ScriptOptions, verify_script
from mpslint.verify.spec import VerifiedMac

torch = pytest.importorskip("torch")
from mpslint.verify.child.kept import _holder  # noqa: E402

CODE = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.mps.set_per_process_memory_fraction(0.05)
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1000)).to("mps")
optimizer = torch.optim.SGD(model.parameters())
criterion = nn.CrossEntropyLoss()
data = TensorDataset(torch.randn(64000, 256), torch.zeros(64000, dtype=torch.long))
loss = None
for epoch in range(3):
    for x, y in DataLoader(data, batch_size=256):
        loss = criterion(model(x.to("mps")), y.to("mps"))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    val_loss, seen = 0, []
    for number in range(2000):
        x, y = torch.randn(1024, 256, device="mps"), torch.zeros(1024, dtype=torch.long, device="mps")
        {evaluates}
    model.train()
"""


def checks(folder: Path, evaluates: str) -> dict[str, Check]:
    """Return the checks of a run whose evaluation fills 0.5 GiB."""
    (folder / "train.py").write_text(CODE.format(evaluates=evaluates))
    report = verify_script(folder / "train.py", ScriptOptions(machine=VerifiedMac("2.13", 16), backend="emulated"))
    return {check.name: check for verdict in report.verdicts for check in verdict.checks}


@pytest.mark.parametrize("evaluates", ["val_loss += criterion(model(x), y)", "seen.append(model(x))"])
def test_a_statement_that_keeps_graphs_of_an_evaluation_is_the_cause(evaluates: str, tmp_path: Path) -> None:
    """It was compiled graphs that keep 1.0 MiB, at the line of the forward pass."""
    found = checks(tmp_path, evaluates)["driver memory"]
    assert found.status == "fail"
    assert f"because `{evaluates}` keeps what" in found.reason
    assert found.line == "train.py:21"


def test_the_finding_of_that_line_is_joined(tmp_path: Path) -> None:
    """What check says of a run stands under what the run shows, with the same line."""
    path = tmp_path / "train.py"
    path.write_text(CODE.format(evaluates="val_loss += criterion(model(x), y)"))
    options = ["--isolated", "--torch", "2.13", "--memory", "16GB", "--yes", "--backend", "emulated", "--format", "json"]
    report = json.loads(CliRunner().invoke(group, ["verify", *options, str(path)]).stdout)
    check = next(check for check in report["verdicts"][0]["checks"] if check["name"] == "driver memory")
    assert {"label": "predicted by", "value": "MPS207 kept-graphs, line 21"} in check["evidence"]
    assert check["line"] == "train.py:21"


def test_nothing_is_named_where_nothing_is_kept(tmp_path: Path) -> None:
    """One forward pass is too large: neither a loss that each step assigns nor small graphs are its cause, and it's the peak that doesn't fit."""
    found = checks(tmp_path, "loss = criterion(model(x.repeat(100, 1)), y.repeat(100))")["driver memory"]
    assert found.status == "fail"
    assert "because" not in found.reason, found.reason


def test_the_peak_counts_what_the_last_step_did(tmp_path: Path) -> None:
    """A peak of the steps before the one that ran out of memory says that the run fits."""
    code = CODE.format(evaluates="val_loss += criterion(model(x), y)").replace("0.05", "1.7")
    (tmp_path / "train.py").write_text(code)
    report = verify_script(tmp_path / "train.py", ScriptOptions(machine=VerifiedMac("2.13", 8), backend="emulated"))
    found = {check.name: check for verdict in report.verdicts for check in verdict.checks}
    assert (found["fits"].status, found["driver memory"].status) == ("fail", "fail")


JOINED = """\
import torch
from torch import nn

model = nn.Linear(64, 4000).to("mps")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
seen = torch.empty(0, 4000, device="mps")
for step in range(5000):
    logits = model(torch.randn(256, 64, device="mps"))
    optimizer.zero_grad()
    logits.mean().backward()
    optimizer.step()
    seen = torch.cat([seen, logits.detach()])
"""


def test_a_tensor_that_is_joined_with_more_at_each_step_is_the_cause(tmp_path: Path) -> None:
    """It's one tensor, a new one each time: no old one is kept."""
    (tmp_path / "train.py").write_text(JOINED)
    report = verify_script(tmp_path / "train.py", ScriptOptions(machine=VerifiedMac("2.15", 16), backend="emulated"))
    (found,) = (check for verdict in report.verdicts for check in verdict.checks if check.name == "live memory")
    assert found.status == "fail"
    assert "because `seen = torch.cat([seen, logits.detach()])` at train.py:12 keeps more each time" in found.reason
    assert found.line == "train.py:12"


class Kept:
    """What a library has in hand: an object of the user's."""

    def __init__(self) -> None:
        self.outs = [torch.ones(2, device="meta") for _ in range(9)]

    def step(self) -> None:
        """Keep one more."""
        self.outs.append(torch.ones(2, device="meta"))


def test_what_only_a_library_has_in_hand_is_looked_at_too() -> None:
    """As Lightning has the module of the code: it's known by its methods, whose code is the user's."""
    library: dict[str, Any] = {}
    exec(compile("import sys\ndef call(module):\n    return sys._getframe()", "library.py", "exec"), library)

    text, line = _holder({__file__: "train.py"}, 8, [library["call"](Kept())])

    assert text.startswith("self.outs.append(")
    assert line.startswith("train.py:")
    assert _holder({__file__: "train.py"}, 8, [library["call"]([torch.ones(2, device="meta")] * 9)]) == ("", "")
