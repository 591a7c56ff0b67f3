"""A diagnosis that stands in a project: which files it checks, which versions hold, and what that settles."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mpslint.cli import group
from mpslint.diagnose import diagnose, log_of_bytes
from mpslint.diagnose.joining import files_here

VIEW = "RuntimeError: view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces)."
BACKWARD = 'File "/opt/lib/python3.12/site-packages/torch/autograd/__init__.py", line 1, in backward\n    engine()\n'
CODE = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(8, 8, 3)

    def forward(self, x):
        return self.conv(x.transpose(1, 2))


model = Net().to("mps")
loss = model(torch.randn(4, 16, 8, device="mps")).sum()
loss.backward()
"""


def traceback(file: str, text: str = "loss.backward()") -> str:
    """Return a traceback that goes through a file into the backward pass."""
    return f'Traceback (most recent call last):\n  File "{file}", line 16, in <module>\n    {text}\n  {BACKWARD}{VIEW}\n'


def asked(log: str, *more: str) -> Result:
    """Return what diagnose says of a log in the current folder."""
    return CliRunner().invoke(group, ["diagnose", "-", *more], input=log)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project that pins torch 2.5.1, as the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text(CODE)
    (tmp_path / "requirements.txt").write_text("torch==2.5.1\n")
    return tmp_path


def test_the_line_that_did_it_is_said(project: Path) -> None:
    """The file is found by the end of its path, the project's torch decides, and the finding is printed with its fix."""
    said = asked(traceback("/Users/ann/work/src/train.py"))
    assert "In src/train.py, what explains it" in said.output
    assert "MPS928" in said.output
    assert "torch 2.5.1 (requirements.txt)" in said.output
    assert (said.exit_code, "The backward pass of a convolution fails in torch 2.5" in said.output) == (0, True)


def test_a_file_of_the_same_name_with_other_code_is_another(project: Path) -> None:
    """The line of the traceback is nowhere in it."""
    assert "In src/train.py" not in asked(traceback("/Users/ann/work/src/train.py", "trainer.fit(model)")).output


@pytest.mark.parametrize("path", ["/Users/ann/../../src/train.py", "/x/other.py"])
def test_paths_that_lead_elsewhere_are_left_alone(project: Path, path: str) -> None:
    """Above the folder, or not there at all."""
    (project.parent / "src").mkdir(exist_ok=True)
    (project.parent / "src" / "train.py").write_text(CODE)
    found = files_here(diagnose(log_of_bytes(traceback(path).encode(), "log")))
    assert found in ([], ["src/train.py"])
    assert found == [] or path.endswith("../src/train.py")


def test_a_log_without_traceback_is_joined_with_a_small_project(project: Path) -> None:
    """Only in a folder that is one, and only with what explains the message."""
    (project / "clean.py").write_text("x = 1\n")
    said = asked(VIEW)
    assert "In src/train.py, what explains it" in said.output
    assert "clean.py" not in said.output
    (project / "requirements.txt").unlink()
    assert "train.py" not in asked(VIEW).output


def test_what_only_the_run_shows_explains_the_error_that_it_quotes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The launch line says the batch size; the finding quotes the error, though the message doesn't name its rule."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(
        "from transformers import HfArgumentParser, Trainer, TrainingArguments\n"
        "(args,) = HfArgumentParser((TrainingArguments,)).parse_args_into_dataclasses()\n"
        "Trainer(model, args, train_dataset=data).train()\n"
    )
    (tmp_path / "run.sh").write_text("python train.py --output_dir out\n")
    frame = '  File "train.py", line 3, in <module>\n    Trainer(model, args, train_dataset=data).train()\n'
    log = f"Traceback (most recent call last):\n{frame}RuntimeError: Placeholder storage has not been allocated on MPS device!\n"
    said = asked(log, "--transformers", "4.30.2", "--accelerate", "0.24.1", "--torch", "2.1.0")

    assert "In train.py, what explains it" in said.output
    assert "started by run.sh" in said.output


def test_versions_may_be_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--torch decides like a version in the log; one that the log names counts for more."""
    monkeypatch.chdir(tmp_path)
    log = f"Traceback (most recent call last):\n  {BACKWARD}{VIEW}"
    assert asked(log).exit_code == 1
    assert asked(log, "--torch", "2.5.1").exit_code == 0
    assert asked(f"torch==2.14.0\n{log}", "--torch", "2.5.1").exit_code == 1


@pytest.mark.parametrize(
    ("line", "version"), [(825, (2, 5)), (1113, (2, 15)), (1112, None)], ids=["torch 2.5", "torch 2.15", "a line of no known release"]
)
def test_a_traceback_gives_its_torch_away(line: int, version: tuple[int, int] | None) -> None:
    """graph.py calls the engine at a line of its own in each release."""
    log = (
        'Traceback (most recent call last):\n  File "/opt/lib/python3.12/site-packages/torch/autograd/graph.py", '
        f"line {line}, in _engine_run_backward\n    return Variable._execution_engine.run_backward(\n{VIEW}\n"
    )
    assert diagnose(log_of_bytes(log.encode(), "log")).versions.get("torch") == version


def test_lines_of_two_releases_give_nothing_away() -> None:
    """Two frames that agree on no release, as in a log of two environments."""
    folder = "/opt/lib/python3.12/site-packages/torch"
    log = (
        f'Traceback (most recent call last):\n  File "{folder}/_tensor.py", line 648, in backward\n    torch.autograd.backward(\n'
        f'  File "{folder}/autograd/graph.py", line 825, in _engine_run_backward\n    return Variable\n{VIEW}\n'
    )
    assert "torch" not in diagnose(log_of_bytes(log.encode(), "log")).versions


def test_a_project_that_explains_nothing_is_said_and_not_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files were checked: no command that would only check them once more."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text("torch\n")
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("import torch\n\nprint(torch.ones(3))\n")
    said = asked("AssertionError: Torch not compiled with CUDA enabled").output

    assert "mpslint check finds nothing that would explain it in 2 files here." in said
    assert "Where it is in your code" not in said
