"""The limit that code sets for its own memory is the one that it meets."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.verify.outcome import Check
from mpslint.verify.script import ScriptOptions, verify_script
from mpslint.verify.spec import VerifiedMac

pytest.importorskip("torch")

CODE = """\
import torch

{before}
model = torch.nn.Linear(4096, 4096).to("mps")
optimizer = torch.optim.SGD(model.parameters())
for step in range(10):
    {within}
    loss = model(torch.ones(32768 * (2 if step > 1 else 1), 4096, device="mps")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def starts(folder: Path, *, before: str = "", within: str = "") -> Check:
    """Return whether the code starts on a Mac of 16 GB; it needs about 2.5 GiB."""
    (folder / "train.py").write_text(CODE.format(before=before, within=within))
    report = verify_script(folder / "train.py", ScriptOptions(machine=VerifiedMac("2.13", 16), backend="emulated"))
    return next(check for verdict in report.verdicts for check in verdict.checks if check.name == "starts")


@pytest.mark.parametrize("before", ["", "torch.mps.set_per_process_memory_fraction(1.0)", "torch.mps.set_per_process_memory_fraction(0.0)"])
def test_it_fits_within_what_is_recommended(before: str, tmp_path: Path) -> None:
    """A fraction of 0 is no limit."""
    assert starts(tmp_path, before=before).status == "pass"


@pytest.mark.parametrize(
    "before",
    [
        "torch.mps.set_per_process_memory_fraction(0.1)",
        "import os; os.environ['PYTORCH_MPS_HIGH_WATERMARK_RATIO'] = '1.0'; torch.mps.set_per_process_memory_fraction(0.1)",
        "import os; os.environ['PYTORCH_MPS_HIGH_WATERMARK_RATIO'] = '0.1'",
    ],
    ids=["fraction", "fraction after the environment", "environment"],
)
def test_it_dies_at_a_tenth_of_that(before: str, tmp_path: Path) -> None:
    """torch raises past a tenth of 10.7 GiB; the fraction was ignored, and the run passed."""
    found = starts(tmp_path, before=before)
    assert (found.status, found.line) == ("fail", "train.py:8"), found
    assert "MPS backend out of memory" in found.reason
    assert "max allowed: 1.07 GiB" in found.reason


def test_a_limit_counts_from_when_it_is_set(tmp_path: Path) -> None:
    """One set in the third step ends that step."""
    (tmp_path / "train.py").write_text(CODE.format(before="", within="step == 2 and torch.mps.set_per_process_memory_fraction(0.1)"))
    report = verify_script(tmp_path / "train.py", ScriptOptions(machine=VerifiedMac("2.13", 16), backend="emulated"))
    assert [run.out_of_memory for run in report.runs] == [3]


def test_what_torch_refuses_is_refused(tmp_path: Path) -> None:
    """Its own check of the fraction is left in place."""
    assert "must be `float`" in starts(tmp_path, before="torch.mps.set_per_process_memory_fraction(1)").reason
