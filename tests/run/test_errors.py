"""`mpslint run`: how a run ends, and what is told of the error that ended it."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mpslint.report.console import Lines
from mpslint.run.script import script_of
from tests.run.watched import PHASES, run, script

TRAINER = """
import time
import torch
from types import SimpleNamespace


class Trainer:
    def __init__(self, model):
        self.model, self.state = model, SimpleNamespace(max_steps=400)

    def train(self):
        optimizer = torch.optim.AdamW(self.model.parameters())
        for step in range(30):
            self.model(torch.ones(2, 8)).mean().backward()
            optimizer.step()
            time.sleep(0.05)


Trainer(torch.nn.Linear(8, 1)).train()
torch.ones({}["learning_rate"], 3).to("cuda")
"""


def test_the_steps_of_a_run_and_an_error_of_no_mac_are_told(tmp_path: Path) -> None:
    """How many steps its trainer means to take; an exception that MPS has no part in, with what check finds in its line."""
    done = run(tmp_path, TRAINER, "--every", "1", "train.py")

    assert re.search(r"step \d+ of 400,", done.stderr)
    assert "warning: KeyError isn't an error that mpslint knows from MPS; train.py:20 MPS501: " in done.stderr


@pytest.mark.parametrize(
    ("raised", "name"),
    [
        ("type('Boom', (Exception,), {})()", "Boom"),
        ("type('Deep', (BaseException,), {})()", "Deep"),
        ("__import__('json').JSONDecodeError('no', '', 0)", "json.decoder.JSONDecodeError"),
        pytest.param(
            "ExceptionGroup('two', [ValueError(), KeyError()])",
            "ExceptionGroup",
            marks=pytest.mark.skipif(sys.version_info < (3, 11), reason="no groups of exceptions"),
        ),
    ],
)
def test_an_error_of_any_name_is_named(raised: str, name: str, tmp_path: Path) -> None:
    """A program's own and Python's, in a script and in `python -c`."""
    for words in (["train.py"], [sys.executable, "-c", f"raise {raised}"]):
        done = run(tmp_path, f"raise {raised}", *words)

        assert done.returncode == 1
        assert f"warning: {name} isn't an error that mpslint knows from MPS\n" in done.stderr


def test_a_module_is_run_and_its_file_checked(tmp_path: Path) -> None:
    """`-m package.module`: the file is found below the folder, and the diagnosis joined with it."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "__init__.py").touch()
    text = "MPS backend out of memory (MPS allocated: 4.20 GiB, other allocations: 43.49 GiB, max allowed: 47.74 GiB)."
    (tmp_path / "project" / "train.py").write_text(script(2**20, f"raise RuntimeError({text!r})"))
    done = run(tmp_path, "", "-m", "project.train", "--epochs", "3", given="typed")

    assert script_of(["-m", "project.train"]) is None  # not below this folder
    assert done.stdout == "arguments: ['--epochs', '3'] typed\n"
    assert "In project/train.py" in done.stderr
    assert done.returncode == 1


def test_an_own_hook_for_exceptions_hides_none(tmp_path: Path) -> None:
    """Scripts install rich's, typer's or their own, behind the probe."""
    hook = "sys.excepthook = lambda *given: print('own words', file=sys.stderr)"
    done = run(
        tmp_path,
        f"import sys\nimport torch.optim\n{hook}\nraise RuntimeError('Placeholder storage has not been allocated on MPS device!')",
        "train.py",
    )

    assert "own words" in done.stderr
    assert "Explained:" in done.stderr


def test_a_line_beside_a_progress_bar_wipes_what_is_left_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal; in a pipe it is a plain line."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for stream, begins in ((Terminal(), "\r\x1b[2K"), (io.StringIO(), "mpslint: ")):
        monkeypatch.setattr(sys, "stderr", stream)
        Lines().say("step 9, a \x1b[31m name")
        assert stream.getvalue().startswith(begins)
        assert stream.getvalue().endswith("\n")
        assert "\x1b[31m name" not in stream.getvalue()


FAILING = """
import traceback
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, given):
        return self.layer(given)

model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(4):
    try:
        model(torch.ones(2, 5))  # at each step: there are looks at the second and the third
    except RuntimeError:
        traceback.print_exc()
    model(torch.ones(2, 4)).mean().backward()
    optimizer.step()
model(torch.ones(2, 5))
"""


def test_a_traceback_is_the_one_without_mpslint(tmp_path: Path) -> None:
    """To the letter, whether the script prints it or Python does; no frame of mpslint, nor of what it has torch do."""
    watched = run(tmp_path, FAILING, "train.py").stderr
    plain = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=False).stderr

    assert plain.count("Traceback") == 5
    assert "".join(line for line in watched.splitlines(keepends=True) if not line.startswith("mpslint: ")) == plain


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_ends_the_watching_not_the_run(tmp_path: Path) -> None:
    """The table can't be written: one line, and the run's own output and exit code."""
    done = run(tmp_path, PHASES + "print('trained')\nraise SystemExit(5)\n", "--csv", "/dev/full", "train.py")

    assert (done.returncode, done.stdout) == (5, "trained\n")
    assert done.stderr.count("the run isn't watched from here on: OSError") == 1
