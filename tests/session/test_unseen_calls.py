"""What moves in a function that no run is seen to call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from mpslint.cli.check import command

MODELS = """import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x)


def try_it(x):
    net = Net().cuda()
    return net(x.cuda())
"""
TRAIN = """import argparse

import torch

from models import Net, try_it

parser = argparse.ArgumentParser()
parser.add_argument("--cuda", action="store_true")
args = parser.parse_args()
net = Net()
if args.cuda:
    net = net.cuda()
{line}
"""


def safeties(folder: Path) -> set[str]:
    """Return the safety of the fixes that `mpslint check` gives for models.py."""
    ran = CliRunner().invoke(command, [str(folder), "--isolated", "--no-cache", "--select", "MPS501", "--output-format", "json"])
    (models,) = [one for one in json.loads(ran.output)["files"] if Path(one["path"]).name == "models.py"]
    return {one["fix"]["safety"] for one in models["findings"]}


@pytest.mark.parametrize(("line", "safety"), [(None, "safe"), ("", "manual")])
def test_a_run_that_does_not_call_it_leaves_its_device_to_the_reader(line: str | None, safety: str, tmp_path: Path) -> None:
    """By itself the file shows a whole run; beside a run of another file, what that run does with it isn't seen."""
    (tmp_path / "models.py").write_text(MODELS)
    if line is not None:
        (tmp_path / "train.py").write_text(TRAIN.format(line=line))

    assert safeties(tmp_path) == {safety}
