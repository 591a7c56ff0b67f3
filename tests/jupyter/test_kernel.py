"""The magics in a real kernel, as Jupyter runs a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

pytestmark = pytest.mark.filterwarnings("default")  # what Jupyter's own libraries warn of is not ours

TRAINING = "from transformers import TrainingArguments\nargs = TrainingArguments('out', fp16=True)"
FAKE = """import sys, types
transformers = types.ModuleType("transformers")
transformers.TrainingArguments = lambda *values, **settings: settings
sys.modules["transformers"] = transformers"""
"""Stands in for transformers, which the kernel need not have: mpslint reads the cells, the kernel runs them."""


def ran(*cells: str) -> list[Any]:
    """The cells after a kernel ran them, and what a front end gets: outputs, and payloads that set a cell's text."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in ("%load_ext mpslint", FAKE, *cells)])
    replies: list[dict[str, Any]] = []
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", on_cell_executed=lambda cell, cell_index, execute_reply: replies.append(execute_reply)
    )
    client.execute()
    return [(cell, reply["content"].get("payload", [])) for cell, reply in zip(notebook.cells, replies, strict=True)][2:]


def page(cell: Any) -> str:
    """The HTML that a cell displays; there is one display."""
    displays = [output for output in cell.outputs if output.output_type == "display_data"]
    assert len(displays) == 1, cell.outputs
    html: str = displays[0]["data"]["text/html"]
    assert displays[0]["data"]["text/plain"]
    return html


def test_findings_are_one_display_and_go_when_the_cell_is_fixed() -> None:
    """Each cell counts as it ran last."""
    (_, _), (first, _), (_, _), (second, _) = ran(TRAINING, "%mpslint --select MPS101", "args = None", "%mpslint --select MPS101")

    assert "MPS101" in page(first)
    assert "MPS101" in page(second)  # the first cell is still part of the notebook


def test_the_cell_magic_checks_before_it_runs_and_counts_afterwards() -> None:
    """The cell runs, and a later `%mpslint` knows it."""
    (cell, _), (result, _), (later, _) = ran(f"%%mpslint --select MPS101\n{TRAINING}", "print(args)", "%mpslint --select MPS101")

    assert "MPS101" in page(cell)
    assert "{'fp16': True}" in result.outputs[0]["text"]
    assert "MPS101" in page(later)


def test_a_fix_is_offered_as_the_next_cell() -> None:
    """By the payload that front ends write into a cell."""
    (_, _), (_, payload) = ran(TRAINING, "%mpslint fix 3 --select MPS101")

    [text] = [one["text"] for one in payload if one["source"] == "set_next_input"]
    assert "fp16=not torch.backends.mps.is_available()" in text


def test_on_checks_each_cell_before_it_runs() -> None:
    """Until `off`, by the options that `on` had."""
    _, (bad, _), _, (off, _) = ran("%mpslint on --select MPS602", TRAINING, "%mpslint off", TRAINING)

    assert "MPS602" in page(bad)
    assert "MPS101" not in page(bad)
    assert not [output for output in off.outputs if output.output_type == "display_data"]


STAND_IN = """import mpslint.run.probe as probe
driver = iter(range(2 * 2**30, 2**50, 31 * 2**20))
probe._device_of = lambda parameters: "mps"
probe._reader = lambda torch, device: (lambda: (2**30, next(driver)), 8 * 2**30)
loaded = probe._sibling
def sibling(name):
    module = loaded(name)
    module.lacks_kernel = lambda operator: False
    return module
probe._sibling = sibling"""
MODEL = """import torch, warnings
layer = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
def step(rows):
    layer(torch.ones(rows, 4)).mean().backward()
    optimizer.step()"""
TRAIN = """warnings.warn("The operator 'aten::foo' is not currently supported on the MPS backend and will fall back to run on the CPU.")
for number in range(80):
    step(1 + number % 3)"""
DIES = """step(1)
raise RuntimeError("MPS backend out of memory (MPS allocated: 4.20 GiB, other allocations: 43.49 GiB, max allowed: 47.74 GiB).")"""


def test_the_rest_of_a_session_is_watched(tmp_path: Path) -> None:
    """From `run` to `stop`: warnings in the cell that trains, the diagnosis in the cell that fails, curves at the end, torch as it was."""
    pytest.importorskip("torch")
    line = f"%mpslint run --csv {tmp_path / 'm.csv'} --html {tmp_path / 'run.html'}"
    cells = [
        "%load_ext mpslint",
        STAND_IN,
        line,
        MODEL,
        TRAIN,
        DIES,
        "%mpslint stop",
        "step(2)\nprint(type(torch.Tensor.backward).__name__)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", allow_errors=True).execute()
    said = ["".join(output.get("text", "") for output in cell.outputs) for cell in notebook.cells]

    assert "what the next cells train is watched" in said[2]
    assert "driver memory grows 31.0 MiB a step and reaches the limit of 13.60 GiB" in said[4]
    assert "aten::foo runs on the CPU because MPS doesn't support it, called at In [5]:1" in said[4]
    assert "Memory grew outside the live tensors until the limit was reached" in said[5]
    assert "cell In [6], line 2" in said[5]
    assert "81 steps in" in said[6]
    assert said[7] == "function\n"
    assert len((tmp_path / "m.csv").read_text().splitlines()) == 1 + 81
    assert "Memory grew outside the live tensors" in (tmp_path / "run.html").read_text()
