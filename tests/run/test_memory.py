"""Real training runs on the CPU in which a stand-in answers for torch.mps: what `run` says of each kind of curve, and `diagnose` of its CSV."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mpslint.diagnose import diagnose, log_of_bytes
from tests import ROOT

torch = pytest.importorskip("torch")

TRAINING = """
import sys
import torch

GIB = 2**30
held = {"live": GIB, "driver": 2 * GIB}
torch.mps.current_allocated_memory = lambda: held["live"]
torch.mps.driver_allocated_memory = lambda: held["driver"]
torch.mps.recommended_max_memory = lambda: 8 * GIB
sys.modules["_mpslint_probe"]._device_of = lambda parameters: "mps"

model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters())
for step in range(1, 121):
    model(torch.ones(2, 4)).mean().backward()
    MEMORY
    optimizer.step()
    optimizer.zero_grad()
    if step == 60:
        with torch.no_grad():
            model(torch.ones(8, 4))
        AFTER
"""
LEAK = ("held['live'] += 2**24; held['driver'] = max(held['driver'], held['live'] + GIB)", "pass")
JUMP = ("pass", "held['driver'] += 3 * GIB")
PLATEAU = ("held['driver'] = min(held['driver'] + GIB // 4, 4 * GIB)", "pass")


@pytest.mark.parametrize(
    ("curve", "said", "verdict"),
    [
        (LEAK, "warning: live memory grows 16.0 MiB a step and reaches the limit of 13.60 GiB", "memory-live-grows"),
        (JUMP, "", "memory-jump-at-evaluation"),
        (PLATEAU, "", "memory-flat"),
    ],
    ids=["leak", "jump", "plateau"],
)
def test_a_curve_is_judged_alike_while_it_runs_and_afterwards(tmp_path: Path, curve: tuple[str, str], said: str, verdict: str) -> None:
    """A leak is warned of once; a jump or a plateau isn't, and is named by `diagnose`."""
    (tmp_path / "train.py").write_text(TRAINING.replace("MEMORY", curve[0]).replace("AFTER", curve[1]))
    command = [sys.executable, "-m", "mpslint", "run", "--csv", "memory.csv", "--html", "run.html", "train.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    found = diagnose(log_of_bytes((tmp_path / "memory.csv").read_bytes(), "memory.csv")).memory_log

    assert [line.partition("mpslint: ")[2].startswith(said) for line in done.stderr.splitlines() if "warning" in line] == [True] * bool(
        said
    )
    assert found is not None
    assert found.verdict == verdict
    assert ">evaluation</text>" in (tmp_path / "run.html").read_text()


@pytest.mark.skipif(not torch.backends.mps.is_available(), reason="no Mac")
def test_a_run_on_a_mac_is_measured(tmp_path: Path) -> None:
    """The real thing, wherever the tests run on a Mac: memory is read after each step, and the limit from Metal."""
    code = (
        "import torch\nmodel = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.Linear(256, 1)).to('mps')\n"
        "optimizer = torch.optim.AdamW(model.parameters())\nfor step in range(60):\n"
        "    model(torch.ones(2 + step % 7, 256, device='mps')).mean().backward()\n    optimizer.step()\n    optimizer.zero_grad()\n"
    )
    (tmp_path / "train.py").write_text(code)
    command = [sys.executable, "-m", "mpslint", "run", "--csv", "memory.csv", "train.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    rows = [line.split(",") for line in (tmp_path / "memory.csv").read_text().splitlines()[1:]]

    assert len(rows) == 60
    assert all(0 < int(live) <= int(driver) < int(recommended) for _, _, live, driver, recommended, _ in rows)
    assert "60 steps" in done.stderr
    assert "7 batch shapes" in done.stderr
