"""What several tests of this folder start from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.session.cached import BAD, FOLDER, NOTEBOOK, SAMPLES, forget


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with something of everything; each test starts without what another remembers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path / FOLDER))
    forget()
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "clean.py").write_text("print(1)\n")
    (tmp_path / "quiet.py").write_text("import torch\nx = torch.ones(3)\n")
    (tmp_path / "cells.ipynb").write_text(NOTEBOOK)
    (tmp_path / "run.sh").write_text("export PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0\npython bad.py\n")
    for sample in SAMPLES.iterdir():
        (tmp_path / sample.name).write_bytes(sample.read_bytes())
    return tmp_path
