"""When a variable that torch reads at its import is in force: the order in which the run imports, and the value, decide."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.session.runs import check_paths
from mpslint.session.session import Options

SET = 'import os\nos.environ["PYTORCH_ENABLE_MPS_FALLBACK"] = "{}"\n'
NET = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return torch.linalg.eigh(x.T @ x)[0]
"""
USE = 'net = Net().to("mps")\nnet(torch.randn(2, 3, device="mps")).sum().backward()\n'


def found(tmp_path: Path, **files: str) -> set[tuple[str, str]]:
    """Return which rules are found in which of some files."""
    for name, text in files.items():
        (tmp_path / name.replace("_", ".")).write_text(text)
    options = Options(isolated=True, target={"torch": "2.9.1"}, select=("MPS710", "MPS910", "MPS927"))
    return {(finding.rule, Path(result.path).name) for result in check_paths([str(tmp_path)], options) for finding in result.findings}


@pytest.mark.parametrize(
    ("main", "expected"),
    [
        (SET.format(1) + "import torch\nfrom model import Net\n", {("MPS927", "model.py")}),
        (SET.format(0) + "import torch\nfrom model import Net\n", {("MPS910", "model.py")}),
        ("from model import Net\n" + SET.format(1) + "import torch\n", {("MPS710", "main.py"), ("MPS910", "model.py")}),
        ("from model import Net\n" + SET.format(0) + "import torch\n", {("MPS910", "model.py")}),
    ],
    ids=["in time", "0 in time", "behind a module that imports torch", "0 behind it"],
)
def test_the_order_of_imports_and_the_value_decide(tmp_path: Path, main: str, expected: set[tuple[str, str]]) -> None:
    """A variable that comes too late, or is 0, doesn't hide an operator that MPS lacks."""
    assert found(tmp_path, main_py=main + USE, model_py=NET) == expected


def test_a_second_time_loses_nothing(tmp_path: Path) -> None:
    """main.py sets it before torch; a module that sets it again behind its own import of torch is right where main.py runs."""
    again = "import torch\n" + SET.format(1) + "SIZE = 3\n"
    main = SET.format(1) + "import torch\nfrom model import Net\nimport config\n"
    assert found(tmp_path, main_py=main + USE, model_py=NET, config_py=again) == {("MPS927", "model.py")}


def test_another_file_that_imports_the_module_changes_nothing(tmp_path: Path) -> None:
    """The order is that of each run, not that of the files' names."""
    main = SET.format(1) + "import torch\nfrom model import Net\n"
    assert ("MPS710", "main.py") not in found(tmp_path, main_py=main + USE, model_py=NET, other_py="from model import Net\n")


def test_a_shell_script_sets_it_for_what_it_starts(tmp_path: Path) -> None:
    """`export` before `python main.py` is in time for the script; without the line the operator raises."""
    shell = "#!/bin/sh\nexport PYTORCH_ENABLE_MPS_FALLBACK=1\npython main.py\n"
    assert found(tmp_path, main_py=NET + USE) == {("MPS910", "main.py")}
    assert found(tmp_path, main_py=NET + USE, run_sh=shell) == {("MPS927", "main.py")}
