"""Cells of notebooks as Python that runs: magics are left out, and what only looks like one stays."""

from __future__ import annotations

import platform
from typing import Any, cast

import pytest

from mpslint.core.knowledge import platform_data
from mpslint.source.magics import mask_cell
from mpslint.verify.child.source import ANSWERS, Piece


@pytest.mark.parametrize(
    ("cell", "name", "value"),
    [
        ("x = 'a %d'\nx = (x\n     %(3))", "x", "a 3"),
        ("x = 7 \\\n  % 4", "x", 3),
        ('x = """\n!not a command\n"""', "x", "\n!not a command\n"),
        ("%matplotlib inline\nx = 1", "x", 1),
        ("%%time\nx = 1", "x", 1),
        ("!pip install torch \\\n  torchvision\nx = 1", "x", 1),
        ("pip install torch\nx = 1", "x", 1),
        ("if True:\n    !ls\nx = 1", "x", 1),
        ("gpu = !nvidia-smi\nx = '\\n'.join(gpu).find('failed')", "x", -1),
        ("x = 1\nx?", "x", 1),
    ],
)
def test_a_cell_runs_without_its_magics(cell: str, name: str, value: object) -> None:
    """Lines that begin with % inside of brackets are Python; commands gave no output."""
    namespace = dict(ANSWERS)
    text = mask_cell(cell).python
    exec(text, namespace)

    assert namespace[name] == value
    assert text.count("\n") == cell.count("\n")


def test_cells_of_other_languages_are_left_out() -> None:
    """Nothing of a shell's cell is run."""
    assert not mask_cell("%%bash\nrm -r /").python.strip()


def test_code_takes_the_branches_of_a_mac() -> None:
    """The safe rewrite of a loader's workers is judged as it runs there."""
    namespace: dict[str, object] = {}
    exec(Piece("a.py", "a.py", 'import sys\nworkers = 0 if sys.platform == "darwin" else 2\n').compiled(), namespace)

    assert namespace["workers"] == 0


def test_code_is_told_that_it_runs_on_a_mac(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the functions of `platform`, in every file of its own; libraries go on as their builds here do."""
    from mpslint.verify.child.torch_patches import say_it_is_a_mac

    asked = "import platform\nfound = platform.system(), platform.machine()\n"
    here = platform.system(), platform.machine()
    own: dict[str, object] = {}
    library: dict[str, object] = {}
    for name in platform_data("shortened")["mac"]:
        monkeypatch.setattr(platform, name, getattr(platform, name))
    say_it_is_a_mac({"own.py"})
    exec(compile(asked, "own.py", "exec"), own)
    exec(compile(asked, "library.py", "exec"), library)

    assert own["found"] == ("Darwin", "arm64")
    assert library["found"] == here


def test_no_address_of_this_process_is_told() -> None:
    """What pickle says of a function holds one, and it is another each time."""
    from torch.utils.data import DataLoader, Dataset

    from mpslint.verify.child.source import check_workers

    told: list[str] = []
    loader = DataLoader(cast("Dataset[Any]", [lambda: 0]))
    check_workers(loader, Piece("a.py", "a.py", ""), lambda name, severity, message: told.append(message))

    assert told
    assert not [message for message in told if "0x" in message]
