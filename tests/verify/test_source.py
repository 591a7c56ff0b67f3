"""Cells of notebooks as Python that runs: magics are left out, and what only looks like one stays."""

from __future__ import annotations

import pytest

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
