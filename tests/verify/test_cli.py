"""`mpslint verify` on the command line: what it prints and writes, its exit codes, and what it never imports."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mpslint.cli import group
from mpslint.verify import work
from tests import ROOT
from tests.warm_command import mpslint

T5 = {
    "model_type": "t5", "vocab_size": 512, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 1, "num_heads": 4,
    "decoder_start_token_id": 0,
}  # fmt: skip
RUN = {
    "model": "tiny", "config": T5, "task": "seq2seq_lm", "source": {"limit": 128, "median": 50},
    "target": {"limit": 16, "median": 6},
    "train_batch": 8, "precision": "fp16", "steps": 200,
}  # fmt: skip
OLD = {"torch": "2.13", "transformers": "4.57", "accelerate": "1.10"}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a cache of its own."""
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "mpslint" / "results"


def spec(folder: Path, **after: Any) -> Path:
    """Write a spec file: as written, and as rewritten with some settings changed."""
    data: dict[str, Any] = {"before": RUN, "machine": OLD}
    if after:
        data["after"] = {**RUN, **after}
    path = folder / "run.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def call(*arguments: str) -> Result:
    """Call `mpslint verify`."""
    return CliRunner().invoke(group, ["verify", *map(str, arguments)])


def test_before_fails_and_after_passes(tmp_path: Path) -> None:
    """fp16 raises with these versions; the rewrite runs, and is the same training. Table, page, CSV; exit code 1."""
    pytest.importorskip("transformers")
    path = spec(tmp_path, precision="no", train_batch=2, accumulation=4, pad_to_multiple_of=16)
    result = call("--spec", path, "--steps", "20", "--html", tmp_path / "r.html", "--csv", tmp_path / "r.csv")

    assert result.exit_code == 1, result.output
    assert "FAIL as written, PASS as rewritten" in result.stdout
    assert "as written: FAIL" in result.stdout
    assert "fp16 mixed precision requires a GPU" in result.stdout
    assert "as rewritten: PASS" in result.stdout
    assert "same training: an optimizer step takes" in result.stdout
    assert "emulated for torch 2.13, not measured" in result.stdout
    assert "<svg" in (tmp_path / "r.html").read_text(encoding="utf-8")
    rows = list(csv.DictReader((tmp_path / "r.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["run"] for row in rows].count("as rewritten") == 20


def test_a_run_that_fails_says_why_in_json_and_is_kept_until_something_changes(tmp_path: Path, own_cache: Path) -> None:
    """Without a rewrite the verdict is that of the run as written. The same run is not worked out again; another one is."""
    pytest.importorskip("transformers")
    path = spec(tmp_path)
    first = call("--spec", path, "--steps", "10", "--format", "json")
    report = json.loads(first.stdout)

    assert first.exit_code == 1
    assert report["status"] == "fail"
    assert report["verdicts"][0]["checks"][0]["name"] == "precision"
    assert report["runs"][0]["steps"][9]["driver"] > 0

    kept = sorted(own_cache.glob("[0-9a-f]*.json"))
    second = call("--spec", path, "--steps", "10", "--format", "json")

    assert len(kept) == 1
    assert sorted(own_cache.glob("[0-9a-f]*.json")) == kept
    assert report["runs"] == json.loads(second.stdout)["runs"]
    call("--spec", path, "--steps", "2", "--format", "json")
    assert len(list(own_cache.glob("[0-9a-f]*.json"))) == 2


def test_an_unknown_model_is_one_line(tmp_path: Path) -> None:
    """A model that is nowhere at hand: exit 3, its name, and how to provide it."""
    pytest.importorskip("transformers")
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"model": "nobody/nothing", "task": "causal_lm", "source": {"limit": 8}}))
    result = call("--spec", path)

    assert result.exit_code == 3
    assert "hf download nobody/nothing config.json" in result.stdout


@pytest.mark.parametrize("backend", ["mps", "cuda"])
def test_a_backend_that_is_not_there_says_so(tmp_path: Path, backend: str) -> None:
    """Asked for a GPU that this machine lacks: not run, exit 3."""
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available() or torch.backends.mps.is_available():
        pytest.skip("this machine has a GPU")
    result = call("--spec", spec(tmp_path), "--backend", backend, "--no-cache", "--steps", "10")

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
        (("--spec", "missing.json"), "does not exist"),
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
    result = call("--spec", spec(tmp_path))

    assert result.exit_code == 3
    assert "pip install 'mpslint[verify]'" in result.stderr


def test_the_parent_never_imports_torch(tmp_path: Path) -> None:
    """torch and transformers are loaded in child processes only."""
    pytest.importorskip("torch")
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from mpslint.report.console import console\n"
        "from mpslint.verify.command import Request, carry_out\n"
        f"carry_out(Request(specs=(Path({str(spec(tmp_path))!r}),), steps=2, backend='emulated'), console())\n"
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
