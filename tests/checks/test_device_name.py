"""Where a constant for the device is made, and where each place chooses by itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from mpslint.cli import group
from tests.notebooks import notebook

BUILD = "import torch\n\n\ndef build():\n    return torch.nn.Linear(2, 2).cuda()\n\n\ndef batch():\n    return torch.ones(2, 2).cuda()\n"
RUN = "print(build()(batch()))\n"


def fixed(folder: Path, **texts: str) -> dict[str, str]:
    """Return the files of a folder after the safe fixes, by name."""
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    CliRunner().invoke(group, ["fix", str(folder), "--apply", "--no-cache", "--quiet"])
    return {name: (folder / f"{name}.py").read_text() for name in texts}


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("import os\n", 'def main(gpu="1"):\n    os.environ["CUDA_VISIBLE_DEVICES"] = gpu\n    {run}\n\nmain()\n'),
        ("from multiprocessing import Process\n", "process = Process(target=lambda: {run})\nprocess.start()\n"),
        ("from accelerate import notebook_launcher\n", "notebook_launcher(lambda: {run}, (), num_processes=1)\n{run}\n"),
    ],
)
def test_cuda_is_not_asked_for_when_a_file_is_imported(tmp_path: Path, head: str, body: str) -> None:
    """The variable would come too late, and CUDA would be of no use in forked processes."""
    train = f"{head}from net import batch, build\n\n{body.format(run='print(build()(batch()))')}"
    found = fixed(tmp_path, net=BUILD, train=train)["net"]

    assert "DEVICE" not in found
    assert found.count("is_available() else") == 4


def test_the_number_of_cores_forks_nothing(tmp_path: Path) -> None:
    """Most programs import multiprocessing for it alone."""
    assert (
        "DEVICE = "
        in fixed(
            tmp_path, net=BUILD, train=f"import multiprocessing\nfrom net import batch, build\nprint(multiprocessing.cpu_count())\n{RUN}"
        )["net"]
    )


def test_a_variable_that_is_set_before_the_import_comes_in_time(tmp_path: Path) -> None:
    """Then one constant serves."""
    train = f'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "1"\nfrom net import batch, build\n{RUN}'
    assert "DEVICE = " in fixed(tmp_path, net=BUILD, train=train)["net"]


def test_an_import_of_all_names_overwrites_no_constant(tmp_path: Path) -> None:
    """`from net import *` would give the name of one file the value of the other's."""
    train = f'import torch\nx = torch.ones(2).to("cuda:1")\ny = torch.ones(2).to("cuda:1")\nfrom net import *\n{RUN}'
    found = fixed(tmp_path, net=BUILD, train=train)

    assert "DEVICE" not in found["net"] + found["train"]
    assert "mps" in found["net"]
    assert "mps" in found["train"]


def test_the_first_gpu_is_not_the_current_one_where_a_run_sets_that(tmp_path: Path) -> None:
    """`.cuda()` means the one that another file makes current."""
    setup = "import torch\n\n\ndef setup(rank):\n    if torch.cuda.is_available():\n        torch.cuda.set_device(rank)\n"
    made = 'teacher = torch.nn.Linear(2, 2).to("cuda:0")\nstudent = torch.nn.Linear(2, 2).cuda()\nprint(student(torch.ones(2).cuda()))\n'
    found = fixed(tmp_path, setup=setup, train=f"import torch\nfrom setup import setup\nsetup(1)\n{made}")["train"]

    assert '"cuda:0" if' in found
    assert '"cuda" if' in found


def test_a_timed_cell_binds_nothing(tmp_path: Path) -> None:
    """Its names are those of a function."""
    path = tmp_path / "a.ipynb"
    path.write_bytes(
        notebook(
            "%%timeit\nimport torch\ntorch.ones(3).cuda() + torch.ones(3).cuda()",
            "import numpy",
            "from torch import ones\nm = ones(3).cuda()",
        )
    )
    CliRunner().invoke(group, ["fix", str(path), "--apply", "--no-cache", "--quiet"])
    timed, *others = ("".join(cell["source"]) for cell in json.loads(path.read_bytes())["cells"])

    assert "device" not in timed.replace("devices", "")
    assert "import torch\n" in "".join(others)
