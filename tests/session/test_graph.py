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
