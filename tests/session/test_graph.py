"""Which files around those that somebody named are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.session import graph
from mpslint.session.session import Options
from mpslint.session.units import graph_of
from mpslint.source.files import FoundFile


def test_the_files_around_are_read_as_far_as_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The nearest first: what lies below a home folder is more than anybody waits for."""
    (tmp_path / "far").mkdir()
    importer = "import model\nfrom transformers import TrainingArguments\n"
    near, far = tmp_path / "a.py", tmp_path / "far" / "b.py"
    near.write_text(importer)
    far.write_text(importer + "#" * 1000)
    (tmp_path / "model.py").write_text("import torch\n")
    found = [FoundFile(str(tmp_path / "model.py"))]

    assert {str(near), str(far)} <= set(graph_of(found, Options(isolated=True)).files)
    monkeypatch.setattr(graph, "MOST_AROUND", 500)
    assert set(graph_of(found, Options(isolated=True)).files) == {str(near), str(tmp_path / "model.py")}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "from package import (\n    model,\n)\nimport torch\n"),
        ("a.py", "import subprocess\nsubprocess.run(['python', '-m', 'package.model'])\n"),
        ("a.py", "import os\nos.system('python package/model.py')\n"),
        ("a.sh", "python package/model.py\n"),
        ("a.ipynb", '{"cells": [{"cell_type": "code", "source": ["import package.model\\n", "import torch"]}]}'),
    ],
)
def test_what_may_import_or_start_a_file_is_read_around_it(tmp_path: Path, name: str, text: str) -> None:
    """Whichever way it names it."""
    (tmp_path / "package").mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "package" / "model.py").write_text("import torch\n")
    (tmp_path / name).write_text(text)

    assert str(tmp_path / name) in graph_of([FoundFile(str(tmp_path / "package" / "model.py"))], Options(isolated=True)).files


def test_what_only_says_the_word_of_a_file_is_not_read_around_it(tmp_path: Path) -> None:
    """A variable, a comment or a text of the same word neither imports nor starts it."""
    (tmp_path / "model.py").write_text("import torch\n")
    (tmp_path / "a.py").write_text('import torch\nmodel = torch.nn.Linear(2, 2)  # the model\nprint("model")\n')

    assert set(graph_of([FoundFile(str(tmp_path / "model.py"))], Options(isolated=True)).files) == {str(tmp_path / "model.py")}
