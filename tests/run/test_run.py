"""`mpslint run`: the command is the user's own, and what it does is watched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mpslint.core.finding import UsageError
from mpslint.diagnose import diagnose, log_of_bytes
from mpslint.run.events import EventFolder, Observed, Step
from mpslint.run.launch import command_line
from mpslint.run.table import StepTable
from mpslint.run.watcher import Watcher, limit_of
from tests import ROOT

STAND_IN = """
probe = sys.modules["_mpslint_probe"]
driver = iter(range(2 * 2**30, 2**50, GROWTH))
probe._device_of = lambda parameters: "mps"
probe._reader = lambda torch, device: (lambda: (2**30, next(driver)), 8 * 2**30)
"""
SCRIPT = """
import sys
import warnings
import torch

STAND_IN
weight = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(weight.parameters(), lr=1e-3)
print("arguments:", sys.argv[1:], sys.stdin.read())
for step in range(120):
    loss = weight(torch.ones(1 + step % 5, 4)).mean() * (float("nan") if step == 99 else 1.0)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
for _ in range(2):
    warnings.warn("The operator 'aten::foo' is not currently supported on the MPS backend and will fall back to run on the CPU.")
END
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


@pytest.fixture(scope="module")
def leaking(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A run whose driver memory grows by 31 MiB a step, whose gradients turn NaN, with a fallback, and which dies out of memory."""
    folder = tmp_path_factory.mktemp("leaking")
    end = 'raise RuntimeError("MPS backend out of memory (MPS allocated: 4.20 GiB, other allocations: 43.49 GiB, max allowed: 47.74 GiB).")'
    return folder, run(folder, script(31 * 2**20, end), "--csv", "memory.csv", "train.py", "--epochs", "3", given="typed")


def test_the_command_is_the_users_own(leaking: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """Arguments, standard input, output, traceback and exit code are those of the script."""
    _, done = leaking

    assert done.stdout == "arguments: ['--epochs', '3'] typed\n"
    assert done.returncode == 1
    assert 'train.py", line' in done.stderr
    assert "_mpslint_probe" not in done.stderr


def test_growth_is_told_once_with_the_step_that_it_reaches_the_limit_at(leaking: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """2 GiB and 31 MiB a step reach 1.7 times 8 GiB at step 384."""
    _, done = leaking
    told = [line for line in done.stderr.splitlines() if "grows" in line and "warning" in line]

    assert len(told) == 1
    assert "driver memory grows 31.0 MiB a step and reaches the limit of 13.60 GiB at about step 38" in told[0]


def test_a_fallback_and_gradients_that_are_not_finite_are_told_once(leaking: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """With the line that called the operator."""
    _, done = leaking

    assert done.stderr.count("warning: aten::foo runs on the CPU because MPS doesn't support it, called at train.py:") == 1
    assert done.stderr.count("warning: gradients are NaN or infinite at step 100") == 1


def test_the_error_is_diagnosed_behind_its_traceback(leaking: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """By what diagnose knows, on standard error."""
    _, done = leaking

    assert done.stderr.index("Traceback") < done.stderr.index("Memory grew outside the live tensors until the limit was reached")


def test_the_table_is_read_by_diagnose(leaking: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """As driver memory that grows."""
    folder, _ = leaking
    found = diagnose(log_of_bytes((folder / "memory.csv").read_bytes(), "memory.csv")).memory_log

    assert found is not None
    assert found.verdict == "memory-driver-grows"
    assert found.points == 120


def test_without_mps_nothing_is_measured_and_nothing_is_claimed(tmp_path: Path) -> None:
    """Steps are counted on the CPU; cells of memory stay empty. A `sitecustomize` of the environment is still imported."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("print('own start-up')\n")
    (tmp_path / "train.py").write_text(SCRIPT.replace("STAND_IN", "").replace("END", ""))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path / "site")])}
    command = [sys.executable, "-m", "mpslint", "run", "--csv", "steps.csv", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    assert done.returncode == 0
    assert done.stdout.count("own start-up") == 2  # mpslint's own Python, and the command's
    assert "120 steps" in done.stderr
    assert "cpu memory isn't measured" in done.stderr
    assert {line.split(",", 2)[2] for line in (tmp_path / "steps.csv").read_text().splitlines()[1:]} == {",,"}


def test_a_signal_ends_the_command_and_is_its_exit_code(tmp_path: Path) -> None:
    """SIGTERM is passed on."""
    (tmp_path / "wait.py").write_text("import time\nopen('started', 'w').close()\ntime.sleep(60)\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-m", "mpslint", "run", "wait.py"], cwd=tmp_path, env=environment)
    while not (tmp_path / "started").exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)

    assert process.wait(30) == 128 + signal.SIGTERM


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whose orphans they are")
def test_what_the_command_started_ends_with_it(tmp_path: Path) -> None:
    """A job that CI cancels leaves no process of the training."""
    code = "import subprocess, time\nchild = subprocess.Popen(['sleep', '77.0625'])\nopen('started', 'w').write(str(child.pid))\ntime.sleep(60)\n"
    (tmp_path / "wait.py").write_text(code)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-m", "mpslint", "run", "wait.py"], cwd=tmp_path, env=environment)
    while not ((tmp_path / "started").exists() and (tmp_path / "started").read_text()) and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    process.wait(30)
    status = Path("/proc", (tmp_path / "started").read_text(), "stat")

    assert not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize(
    ("words", "said"), [(["gone.py"], "no such file"), (["a.ipynb"], "a notebook runs in Jupyter"), (["no-such-x"], "no such command")]
)
def test_what_cannot_be_started_is_one_line(words: list[str], said: str) -> None:
    """Before anything runs."""
    with pytest.raises(UsageError, match=said):
        command_line(words)


def observed(drivers: list[int], shapes: int = 1) -> Observed:
    """Return a run on MPS with this driver memory after each step."""
    steps = [Step(number, number * 0.5, 2**30, driver, min(number, shapes)) for number, driver in enumerate(drivers, 1)]
    return Observed(device="mps", has_mps=True, recommended=8 * 2**30, steps=steps)


def said_of(run: Observed, **state: int) -> list[str]:
    """Return what a watcher says of a run, looked at twice."""
    lines: list[str] = []
    watcher = Watcher(lines.append, lambda verdict: "; train.py:4 MPS301: padded", swap_at_start=0)
    for name, value in state.items():
        setattr(watcher, name, value)
    watcher.look(run, 1.0)
    watcher.look(run, 2.0)
    return lines


def test_a_plateau_is_calm() -> None:
    """One jump at the beginning, then flat: no warning."""
    assert said_of(observed([2**30] * 5 + [3 * 2**30] * 100)) == []


def test_swap_and_many_shapes_are_told_once_with_the_finding_of_check() -> None:
    """Each once, however often the run is looked at."""
    lines = said_of(observed([3 * 2**30] * 250, shapes=250), swap=3 * 2**30)

    assert lines == [
        "warning: 250 different batch shapes in 250 steps; MPS keeps buffers and graphs for each; train.py:4 MPS301: padded",
        "warning: 3.00 GiB went into swap since the run began",
    ]


def test_a_model_that_is_left_on_the_cpu_is_told() -> None:
    """Where there is MPS."""
    assert "trained on the CPU although MPS is available" in said_of(Observed(device="cpu", has_mps=True))[0]


def test_the_limit_is_the_watermark_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """1.7 times what Metal recommends, or the ratio that is set."""
    run = observed([2**30])
    monkeypatch.delenv("PYTORCH_MPS_HIGH_WATERMARK_RATIO", raising=False)
    default = limit_of(run)
    monkeypatch.setenv("PYTORCH_MPS_HIGH_WATERMARK_RATIO", "1.0")

    assert (default, limit_of(run)) == (int(1.7 * 8 * 2**30), 8 * 2**30)


def test_a_line_that_is_still_being_written_waits(tmp_path: Path) -> None:
    """The rest of it is read with the next poll."""
    path, events = tmp_path / "1.jsonl", EventFolder(tmp_path)
    path.write_text('["begin", "mps", true, 8, "2.13.0", ["float32"]]\n["step", 1, 0.5, 1, 2')
    first = len(events.poll().steps)
    path.write_text(path.read_text() + ", 1]\n")

    assert (first, len(events.poll().steps)) == (0, 1)


def test_a_table_grows_with_the_run(tmp_path: Path) -> None:
    """No step twice."""
    run, table = observed([5, 6]), StepTable(tmp_path / "m.csv")
    table.update(run)
    run.steps.append(Step(3, 1.5, 1, 7, 1))
    table.update(run)

    assert [line.split(",")[0] for line in (tmp_path / "m.csv").read_text().splitlines()] == ["step", "1", "2", "3"]
