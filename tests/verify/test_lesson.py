"""The sample notebook, by its own code and without a network: it fails as it is written, and passes as it is rewritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from mpslint.cli import group
from tests import ROOT

pytest.importorskip("transformers")
pytest.importorskip("datasets")


def test_the_lesson_fails_as_written_and_passes_as_rewritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory runs out in the first steps, and the findings of the lines that cause it are named; the rewrite fits."""
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path / "cache"))
    path = ROOT / "samples" / "summarization.ipynb"
    before = path.read_bytes()
    line = ["verify", "--isolated", "--torch", "2.13", "--memory", "16GB", "--yes", "--backend", "emulated", "--steps", "8"]
    result = CliRunner().invoke(group, [*line, "--format", "json", str(path)])
    report = json.loads(result.stdout)
    assert result.exit_code == 1
    written, rewritten = report["verdicts"]
    assert (written["status"], rewritten["status"]) == ("fail", "pass"), report
    (memory,) = (check for check in written["checks"] if check["name"] == "driver memory")
    assert memory["reason"].startswith("memory runs out at step ")
    assert {"MPS201", "MPS301"} <= {item["value"].split()[0] for item in memory["evidence"] if item["label"] == "predicted by"}
    assert path.read_bytes() == before
