"""Runs that tests watch: a training with a stand-in for the memory of a Mac."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests import ROOT

STAND_IN = """
probe = sys.modules["_mpslint_probe"]
driver = iter(range(2 * 2**30, 2**50, GROWTH))
probe._device_of = lambda parameters: "mps"
probe._reader = lambda torch, device: (lambda: (2**30, next(driver)), 8 * 2**30)
lacking = {"aten::cumsum"}


def without_a_device(looks, own_loader=probe._sibling):
    module = own_loader(looks)
    module.synchronize, module.lacks_kernel = lambda: None, lacking.__contains__
    return module


probe._sibling = without_a_device
"""
SCRIPT = """
import sys
import warnings
import torch

STAND_IN
weight = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(weight.parameters(), lr=1e-3)
print("arguments:", sys.argv[1:], sys.stdin.read())
warnings.warn("The operator 'aten::cumsum' is not currently supported on the MPS backend and will fall back to run on the CPU.")
for step in range(120):
    loss = weight(torch.ones(1 + step % 5, 4).cumsum(0)).mean() * (float("nan") if step == 99 else 1.0)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step == 60:
        with torch.no_grad():
            weight(torch.ones(9, 4))
        torch.save([weight, optimizer.state_dict()], "checkpoint.pt")
assert b"mpslint" not in open("checkpoint.pt", "rb").read()
END
"""
PHASES = """
import torch

for phase in range(3):
    layer = torch.nn.Linear(4, 1)
    optimizer = torch.optim.AdamW(layer.parameters())
    for step in range(20):
        layer(torch.ones(2, 4)).mean().backward()
        optimizer.step()
"""


def run(folder: Path, code: str, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run `mpslint run train.py ...` in a folder, with a script that has this code."""
    (folder / "train.py").write_text(code, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "mpslint", "run", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, input=given, capture_output=True, text=True, check=False)


def script(growth: int, end: str = "") -> str:
    """Return a training whose stand-in for torch.mps grows by so many bytes a step, and what it does at its end."""
    return SCRIPT.replace("STAND_IN", STAND_IN.replace("GROWTH", str(growth))).replace("END", end)
