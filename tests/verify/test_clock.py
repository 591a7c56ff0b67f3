"""What a short evaluation says of a whole one."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.verify.script import ScriptOptions, verify_script

pytest.importorskip("torch")

CODE = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Linear(64, 4000).to("mps")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn(640, 64))
for epoch in range(20):
    for (x,) in DataLoader(data, batch_size=64):
        optimizer.zero_grad()
        model(x.to("mps")).mean().backward()
        optimizer.step()
    kept = []
    with torch.no_grad():
        for (x,) in DataLoader(data, batch_size=16):
            logits = model(x.to("mps"))
            {keeps}
    {then}
"""
BATCHES = 40


@pytest.mark.parametrize(
    ("keeps", "then"),
    [
        ("pass", "pass"),
        ("kept.append(logits)", "pass"),
        ("kept.append(logits)", "kept = torch.cat(kept)"),
        ("kept = torch.cat([kept, logits]) if len(kept) else logits", "pass"),
    ],
    ids=["nothing", "a list", "a list that is joined", "joined at each batch"],
)
def test_what_an_evaluation_keeps_is_carried_on_to_all_its_batches(keeps: str, then: str, tmp_path: Path) -> None:
    """The peak is that of an evaluation that runs whole: a joined tensor is there beside its parts."""
    path = tmp_path / "train.py"
    path.write_text(CODE.format(keeps=keeps, then=then))
    peaks = []
    for batches in (4, BATCHES):
        (run,) = verify_script(path, ScriptOptions(backend="emulated", evaluation_batches=batches)).runs
        peaks.append(max(record.peak for record in run.steps if record.what == "evaluate"))
    assert peaks[0] == peaks[1]
