"""Cells that don't parse, and what the others lose by them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from mpslint.cli.check import command
from mpslint.engine import check
from mpslint.rule.loading import load_rules
from mpslint.source.reader import read
from mpslint.target.target import default_target
from tests.notebooks import notebook

IMPORTS = "import torch\nfrom transformers import (\n    Trainer,\n    TrainingArguments,\n)\n"


@pytest.mark.parametrize(
    "rest",
    [
        "from datasets import (\n",
        "from datasets import \n",
        "model = <your model>\n",
        "print torch.__version__\n",
        "x = 'abc\n",
        "if True:\n",
        "Import the libraries\n",
        "import os, \\\n",
        "token = {{cookiecutter.token}\n",
    ],
)
@pytest.mark.parametrize("is_first", [True, False], ids=["above", "below"])
def test_a_broken_cell_keeps_its_imports(rest: str, is_first: bool) -> None:
    """Each cell is told from the others; what a half-written one imports is known to all, at its own lines."""
    cells = [
        rest + IMPORTS if is_first else IMPORTS + rest,
        "args = TrainingArguments('out', no_cuda=True)\ntrainer = Trainer(model, args)\n",
    ]
    rows = [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": cell} for cell in cells]
    text = json.dumps({"cells": rows, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    document = read("train.ipynb", text.encode())
    found = check(document, default_target(), load_rules())

    assert any("no_cuda" in document.line_text(document.line_at(one.span.start)) for one in found.findings)


def test_the_line_that_the_parser_names_is_one_of_its_cell() -> None:
    """Python counts the lines of all cells together."""
    cells = ["import torch\nx = 1\n", "y = 2\nwith open('x') as f:\nprint(y)\n"]
    document = read("train.ipynb", notebook(*cells))

    assert [one.reason.rpartition(" on ")[2] for one in check(document, default_target(), load_rules()).unread] == ["line 2"]


def test_a_file_of_a_run_that_ends_with_a_def(tmp_path: Path) -> None:
    """The line that the parser names is one of all files together, of which this one has fewer."""
    (tmp_path / "train.py").write_text("import helper\n")
    (tmp_path / "helper.py").write_text("def f(x):\n")

    assert "mistake" not in CliRunner().invoke(command, [str(tmp_path / "train.py")]).output
