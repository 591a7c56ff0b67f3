"""What `verify FILE` runs: the file itself, or the script that it starts, with the arguments and the environment that it gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from mpslint.cli import group
from mpslint.core.finding import ReadError
from mpslint.source.reader import read
from mpslint.verify.start import Start, start_of

TRAIN = """\
import os, sys
import torch

assert sys.argv[1:] == ["--width", "4"], sys.argv
assert os.environ["DATA"] == "rows", os.environ.get("DATA")
device = torch.device("mps")
model = torch.nn.Linear(4, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(9):
    optimizer.zero_grad()
    model(torch.ones(2, 4, device=device)).sum().backward()
    optimizer.step()
"""
SHELL = "export DATA=rows\nWIDTH=4\npython train.py --width $WIDTH\n"
MAKE = "WIDTH ?= 4\nexport DATA = rows\ntrain:\n\tpython train.py --width $(WIDTH)\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a script, and no results of other tests."""
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(TRAIN)
    return tmp_path


def start(folder: Path, name: str, text: str, *words: str) -> Start:
    """Return how a file starts its run."""
    (folder / name).write_text(text)
    return start_of(read(name, text.encode()), name, (), words)


def test_a_script_is_started_with_the_words_behind_the_dashes(project: Path) -> None:
    """Words are its arguments."""
    assert start(project, "train.py", TRAIN, "--width", "4") == Start(Path("train.py"), ("--width", "4"))


@pytest.mark.parametrize(("name", "text"), [("launch.sh", SHELL), ("Makefile", MAKE)])
def test_a_launch_gives_arguments_and_environment(project: Path, name: str, text: str) -> None:
    """Variables of the shell or of make are read."""
    found = start(project, name, text)
    assert (found.script, found.arguments) == (project / "train.py", ("--width", "4"))
    assert found.environment["DATA"] == "rows"
    assert found.said == (f"{name} starts train.py with --width 4",)


def test_a_launcher_hands_its_options_on(project: Path) -> None:
    """`accelerate launch --mixed_precision fp16` sets a variable that the script's libraries read."""
    found = start(project, "launch.sh", "SEED=1 echo\nDATA=rows accelerate launch --mixed_precision fp16 train.py\nexport LATE=1\n")
    assert found.environment == {"DATA": "rows", "ACCELERATE_MIXED_PRECISION": "fp16"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo done\n", "starts no Python file of its project by itself: name the script"),
        ("python train.py --width $(wc -l < rows)\n", "isn't known before the shell runs (the word after --width)"),
    ],
)
def test_what_starts_nothing_known_says_so(project: Path, text: str, said: str) -> None:
    """One line, with the way out."""
    with pytest.raises(ReadError) as raised:
        start(project, "launch.sh", text)
    assert said in str(raised.value)


def test_verify_of_a_launch_script_runs_what_it_starts(project: Path) -> None:
    """The script gets its arguments and its environment, and its run is judged."""
    pytest.importorskip("torch")
    (project / "launch.sh").write_text(SHELL)
    result = CliRunner().invoke(group, ["verify", "--isolated", "--yes", "--backend", "emulated", "--format", "json", "launch.sh"])
    report = json.loads(result.stdout)
    assert (report["subject"], report["status"]) == ("launch.sh", "pass"), result.stdout
    assert report["reading"]["run"].endswith("; launch.sh starts train.py with --width 4")
