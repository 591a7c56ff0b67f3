"""`mpslint run`: the command is the user's own, and what it does is watched."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mpslint.diagnose import diagnose, log_of_bytes
from tests import LONG, ROOT, comes_true, runs
from tests.run.watched import PHASES, SCRIPT, run, script


@pytest.fixture(scope="module")
def leaking(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A run whose driver memory grows by 31 MiB a step, whose gradients turn NaN, with a fallback, and which dies out of memory."""
    folder = tmp_path_factory.mktemp("leaking")
    end = 'raise RuntimeError("MPS backend out of memory (MPS allocated: 4.20 GiB, other allocations: 43.49 GiB, max allowed: 47.74 GiB).")'
    options = ("--csv", "memory.csv", "--html", "run.html")
    return folder, run(folder, script(31 * 2**20, end), *options, "train.py", "--epochs", "3", given="typed")


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
    """With the line that called the operator, and what it takes a step."""
    _, done = leaking

    assert done.stderr.count("warning: aten::cumsum runs on the CPU because MPS doesn't support it, called at train.py:") == 1
    assert len(re.findall(r"warning: aten::cumsum takes [\d.]+ ms a step on the CPU \(1 call\)", done.stderr)) == 1
    assert done.stderr.count("warning: the loss and gradients are NaN or infinite at step 100, and weren't at step 50") == 1
    assert re.search(r"every 50th\); first in weight, by the backward pass at train\.py:\d+\n", done.stderr)


def test_the_error_is_diagnosed_behind_its_traceback(leaking: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """By what diagnose knows, on standard error."""
    _, done = leaking

    assert done.stderr.index("Traceback") < done.stderr.index("Memory grew outside the live tensors until the limit was reached")


def test_what_prevents_the_error_is_a_command(leaking: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """Where check finds nothing that fix could mend: the upgrade that the diagnosis names, and the user's own command again."""
    _, done = leaking
    _, _, told = done.stderr.partition("What prevents it\n")

    assert told.splitlines()[:2] == ["  pip install --upgrade 'torch>=2.14'", "  mpslint run train.py --epochs 3"]


def test_the_page_shows_the_run(leaking: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """Its curves, what was done between the steps, warnings and diagnosis; nothing is asked for from elsewhere."""
    folder, _ = leaking
    page = (folder / "run.html").read_text()

    assert [page.count(f"<h3>{head}</h3>") for head in ("Memory after each step", "Time of a step", "Batch shapes so far")] == [1, 1, 1]
    assert ">evaluation + checkpoint</text>" in page
    assert "reaches the limit of 13.60 GiB" in page
    assert "Memory grew outside the live tensors" in page
    assert not re.findall(r"(?:src|href)=|url\(|@import", page)


def test_the_table_is_read_by_diagnose(leaking: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """As driver memory that grows."""
    folder, _ = leaking
    found = diagnose(log_of_bytes((folder / "memory.csv").read_bytes(), "memory.csv")).memory_log

    assert found is not None
    assert found.verdict == "memory-driver-grows"
    assert found.points == 120
    assert next(line for line in (folder / "memory.csv").read_text().splitlines() if line.endswith("evaluation + checkpoint")).startswith(
        "62,"
    )


def test_without_mps_nothing_is_measured_and_nothing_is_claimed(tmp_path: Path) -> None:
    """Steps are counted on the CPU; cells of memory stay empty. A `sitecustomize` of the environment is still imported."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("print('own start-up')\n")
    (tmp_path / "train.py").write_text(SCRIPT.replace("STAND_IN", "").replace("END", "").replace("warnings.warn(", "str("))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path / "site")])}
    command = [sys.executable, "-m", "mpslint", "run", "--csv", "steps.csv", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    assert done.returncode == 0
    assert done.stdout.count("own start-up") == 2  # mpslint's own Python, and the command's
    assert "120 steps" in done.stderr
    assert "cpu memory isn't measured" in done.stderr
    assert {line.split(",", 2)[2] for line in (tmp_path / "steps.csv").read_text().splitlines()[1:]} <= {
        ",,,",
        ",,,evaluation + checkpoint",
    }


def test_a_signal_ends_the_command_and_is_its_exit_code(tmp_path: Path) -> None:
    """SIGTERM is passed on."""
    (tmp_path / "wait.py").write_text("import time\nopen('started', 'w').close()\ntime.sleep(1000)\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-m", "mpslint", "run", "wait.py"], cwd=tmp_path, env=environment)
    assert comes_true(lambda: (tmp_path / "started").exists() or process.poll() is not None)
    process.send_signal(signal.SIGTERM)

    assert process.wait(LONG) == 128 + signal.SIGTERM


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whose orphans they are")
def test_what_the_command_started_ends_with_it(tmp_path: Path) -> None:
    """A job that CI cancels leaves no process of the training."""
    code = "import subprocess, time\nchild = subprocess.Popen(['sleep', '1000'])\nopen('started', 'w').write(str(child.pid))\ntime.sleep(1000)\n"
    (tmp_path / "wait.py").write_text(code)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-m", "mpslint", "run", "wait.py"], cwd=tmp_path, env=environment)
    assert comes_true(lambda: ((tmp_path / "started").exists() and (tmp_path / "started").read_text()) or process.poll() is not None)
    process.send_signal(signal.SIGTERM)
    process.wait(LONG)

    assert comes_true(lambda: not runs(int((tmp_path / "started").read_text())))


SAVING = """
try:
    for step in range(10_000):
        weight(torch.ones(1, 4)).mean().backward()
        optimizer.step()
        time.sleep(0.01)
        finished = step
except KeyboardInterrupt:
    print("saved after step", finished + 1)
    raise SystemExit(7)
"""


def test_stop_before_swap_interrupts_behind_a_step(tmp_path: Path) -> None:
    """As Ctrl-C would, so that the script saves; its exit code is what it makes of that."""
    done = run(tmp_path, script(124 * 2**20, SAVING).replace("import sys", "import sys\nimport time"), "--stop-before-swap", "train.py")

    assert done.returncode == 7
    assert "saved after step" in done.stdout
    assert "stopping the run (--stop-before-swap)" in done.stderr


GAN = """
import torch

one, other = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
optimizers = [torch.optim.AdamW(layer.parameters()) for layer in (one, other)]
for step in range(30):
    for layer, optimizer in zip((one, other), optimizers):
        for _ in range(1 if layer is one else 3):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = layer(torch.ones(2, 4)).mean()
            loss.backward()
            optimizer.step()
"""
COMPILED = """
import torch

layer = torch.compile(torch.nn.Linear(4, 1), backend="eager")
optimizer = torch.optim.AdamW(layer.parameters())
for step in range(30):
    layer(torch.ones(2, 4)).mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("code", "said"),
    [(PHASES, "60 steps"), (GAN, "30 steps"), (COMPILED, "30 steps")],
    ids=["three trainings in a row", "two optimizers a step", "a compiled model"],
)
def test_steps_are_counted(tmp_path: Path, code: str, said: str) -> None:
    """Of each training in a row; of a GAN the first optimizer's; of a compiled model without a warning of torch's.

    The GAN's autocast works, which is no news.
    """
    done = run(tmp_path, code, "train.py")

    assert said in done.stderr
    assert "Warning" not in done.stderr
    assert "is asked for" not in done.stderr
    assert ("batch shape" in done.stderr) is (code != COMPILED)


ASKING = """
import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters())
for step in range(40):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(torch.ones(2, 8)).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.filterwarnings("default")
def test_a_dtype_that_is_asked_for_and_missed_is_told(tmp_path: Path) -> None:
    """Autocast for CUDA does nothing elsewhere."""
    done = run(tmp_path, ASKING, "train.py")
    said = "warning: bfloat16 is asked for (train.py:8, dtype), but the layers compute in float32"

    assert done.stderr.count(said) == 1
    assert done.stderr.count("is asked for") == 1
