"""How the command is started and polled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mpslint.core.finding import UsageError
from mpslint.run import launch
from mpslint.run.launch import command_line
from mpslint.run.watcher import Watcher
from tests import ROOT, comes_true

DIVERGING = """
import torch

weight = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(weight.parameters())
for step in range(50):
    loss = weight(torch.ones(2, 4)).mean() * (float("nan") if step == 49 else 1.0)
    loss.backward()
    optimizer.step()
"""


def test_a_run_that_ends_before_the_first_poll_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What its last steps told is looked at when it has ended."""
    (tmp_path / "train.py").write_text(DIVERGING)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(launch, "POLL_SECONDS", 600)
    said: list[str] = []
    launch.run(["train.py"], Watcher(said.append, lambda *_: ""), stop_before_swap=False, keep=lambda _: None)

    assert [line for line in said if "NaN or infinite at step 50, and weren't at step 10" in line]


@pytest.mark.parametrize(
    ("words", "said"), [(["gone.py"], "no such file"), (["a.ipynb"], "a notebook runs in Jupyter"), (["no-such-x"], "no such command")]
)
def test_what_cannot_be_started_is_one_line(words: list[str], said: str) -> None:
    """Before anything runs."""
    with pytest.raises(UsageError, match=said):
        command_line(words)


def test_a_script_runs_under_the_python_that_has_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This one, or where mpslint was installed apart from torch the one that the shell would start."""
    (tmp_path / "train.py").touch()
    (tmp_path / "python").touch(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    here = command_line(["train.py", "--x"])
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    assert here == [sys.executable, "train.py", "--x"]
    assert command_line(["train.py", "--x"]) == [str(tmp_path / "python"), "train.py", "--x"]


@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGKILL")
def test_the_command_ends_when_mpslint_is_killed(tmp_path: Path) -> None:
    """It is asked to end, so that it saves what it may."""
    code = """
import os, signal, sys, time

def asked(*_):
    open("asked", "w").close()
    sys.exit()

signal.signal(signal.SIGTERM, asked)
open("started", "w").write(str(os.getpid()))
time.sleep(300)
"""
    (tmp_path / "wait.py").write_text(code)
    process = subprocess.Popen(
        [sys.executable, "-m", "mpslint", "run", "wait.py"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert comes_true(lambda: (tmp_path / "started").exists() and (tmp_path / "started").read_text())
    process.kill()
    process.wait()

    assert comes_true((tmp_path / "asked").exists)
