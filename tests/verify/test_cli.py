"""`mpslint verify` on the command line: what it prints and writes, its exit codes, and what it never imports."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mpslint.cli import group
from mpslint.verify import work
from tests import ROOT
from tests.warm_command import mpslint

TRAIN = """\
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

model = {model}
args = TrainingArguments("out", per_device_train_batch_size=8, max_steps=200, fp16=True)
Trainer(model, args, train_dataset=data).train()
"""
TINY = "GPT2LMHeadModel(GPT2Config(vocab_size=512, n_embd=32, n_layer=1, n_head=2, n_positions=64))"
OLD = ("--isolated", "--torch", "2.13", "--transformers", "4.57", "--accelerate", "1.10", "--memory", "16GB")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a cache of its own."""
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "mpslint" / "results"


def planned(folder: Path, model: str = TINY) -> Path:
    """Write a script whose run a plan describes."""
    path = folder / "train.py"
    path.write_text(TRAIN.format(model=model), encoding="utf-8")
    return path


def call(*arguments: str) -> Result:
    """Call `mpslint verify`."""
    return CliRunner().invoke(group, ["verify", *map(str, arguments)])


def test_a_run_that_fails_says_why_in_json_and_is_kept_until_something_changes(tmp_path: Path, own_cache: Path) -> None:
    """The same runs are not worked out again; others are."""
    pytest.importorskip("transformers")
    path = planned(tmp_path)
    first = call("--plan", path, *OLD, "--steps", "10", "--format", "json")
    report = json.loads(first.stdout)

    assert first.exit_code == 1
    assert report["status"] == "fail"
    assert report["verdicts"][0]["checks"][0]["name"] == "precision"
    assert 0 < report["runs"][0]["steps"][9]["driver"][0] < report["runs"][0]["steps"][9]["driver"][1]
    assert report["runs"][1]["notes"][-1] == "both are one run, which was done once"

    kept = sorted(own_cache.glob("[0-9a-f]*.json"))
    second = call("--plan", path, *OLD, "--steps", "10", "--format", "json")

    assert len(kept) == 1  # both are one script: precision is judged without it
    assert sorted(own_cache.glob("[0-9a-f]*.json")) == kept
    again = json.loads(second.stdout)
    for run in (*report["runs"], *again["runs"]):
        for timed in (run, *run["steps"]):
            del timed["seconds"]  # both runs were worked out at once, and one was kept
    assert report["runs"] == again["runs"]
    call("--plan", path, *OLD, "--steps", "2", "--format", "json")
    assert len(list(own_cache.glob("[0-9a-f]*.json"))) == 2 * len(kept)


def test_an_unknown_model_is_one_line(tmp_path: Path) -> None:
    """A model that is nowhere at hand: exit 3, its name, and how to provide it."""
    pytest.importorskip("transformers")
    path = planned(tmp_path, 'GPT2LMHeadModel.from_pretrained("nobody/nothing")')
    result = call("--plan", path, "--isolated")

    assert result.exit_code == 3
    assert "hf download nobody/nothing config.json" in result.stdout


@pytest.mark.parametrize("backend", ["mps", "cuda"])
def test_a_backend_that_is_not_there_says_so(tmp_path: Path, backend: str) -> None:
    """Asked for a GPU that this machine lacks: not run, exit 3."""
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available() or torch.backends.mps.is_available():
        pytest.skip("this machine has a GPU")
    result = call("--plan", planned(tmp_path), *OLD, "--backend", backend, "--no-cache", "--steps", "10")

    assert result.exit_code == 3, result.output
    assert f"this machine has no {backend.upper()} device" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "say what to verify"),
        (("--plan", "--run", "3", "samples/amp_loop.py"), "has 1 training run"),
        (("samples/amp_loop.py",), "allow it with --yes, or add --plan"),
        (("samples/launch.sh", "samples/amp_loop.py"), "verify runs a copy of 2 files"),
        (("samples/amp_loop.py", "--run", "2", "--yes"), "--run is about the plan of a file: add --plan"),
    ],
)
def test_wrong_usage_exits_2(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    """A command line that asks for nothing that can be done."""
    shutil.copytree(ROOT / "samples", tmp_path / "samples")
    done = mpslint(["verify", *arguments], tmp_path, os.environ)

    assert done.returncode == 2, done.stderr
    assert said in done.stderr.decode()


def test_without_torch_it_says_how_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without torch: one line, exit 3."""
    monkeypatch.setattr(work, "has_torch", lambda: False)
    result = call("--plan", planned(tmp_path))

    assert result.exit_code == 3
    assert "pip install 'mpslint[verify]'" in result.stderr


def test_the_parent_never_imports_torch(tmp_path: Path) -> None:
    """torch and transformers are loaded in child processes only."""
    pytest.importorskip("torch")
    code = (
        "import sys\n"
        "from mpslint.cli.verify import command\n"
        f"words = [{str(planned(tmp_path))!r}, '--plan', '--steps', '2', '--backend', 'emulated']\n"
        "try:\n"
        "    command.main(words)\n"
        "except SystemExit:\n"
        "    pass\n"
        "import mpslint.run.monitor\n"
        "print('LOADED', sorted({'torch', 'transformers', 'numpy'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ},
        cwd=Path(__file__).parents[2],
    )

    assert "LOADED []" in done.stdout, done.stdout + done.stderr


def test_a_script_runs_from_the_command_line(tmp_path: Path) -> None:
    """A script with arguments after --; allowed by --yes."""
    pytest.importorskip("torch")
    path = tmp_path / "train.py"
    path.write_text(
        "import sys, torch\n"
        "assert sys.argv[1:] == ['--data', 'x'], sys.argv\n"
        "layer = torch.nn.Linear(2, 2).to('mps')\n"
        "optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)\n"
        "for _ in range(9):\n"
        "    optimizer.zero_grad()\n"
        "    layer(torch.ones(2, 2, device='mps')).sum().backward()\n"
        "    optimizer.step()\n"
    )
    result = call(path, "--yes", "--backend", "emulated", "--", "--data", "x")

    assert result.exit_code == 0, result.output
    assert "9 optimizer steps emulated" in result.stdout
