"""Where the samples lie for the server: a project of their own, so that nobody waits for all of mpslint to be read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests import ROOT


@pytest.fixture(autouse=True)
def _own_project(tmp_path: Path) -> None:
    """The folder of a test is the root of a project: no pins that lie above it count."""
    (tmp_path / "setup.py").touch()


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the samples, below the pyproject.toml that they have above them."""
    project = tmp_path_factory.mktemp("project")
    shutil.copy(ROOT / "pyproject.toml", project)
    return Path(shutil.copytree(ROOT / "samples", project / "samples"))
