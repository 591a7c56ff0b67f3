"""JupyterLab with jupyterlab-lsp finds the language server by itself, and shows what it says in the cells."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests import LONG

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "try"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
HAS_BROWSER = bool(CHROMIUM and shutil.which("node") and (PAGE / "node_modules" / "playwright-core").is_dir())
HAS_LAB = all(importlib.util.find_spec(name) for name in ("jupyterlab", "jupyterlab_lsp", "ipykernel", "pygls"))
IS_INSTALLED = any(one.name == "mpslint" for one in entry_points(group="jupyter_lsp_spec_v1"))


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """The address of a running JupyterLab over a folder with the sample notebook, with nothing configured."""
    (tmp_path / "work").mkdir()
    shutil.copy(ROOT / "samples" / "summarization.ipynb", tmp_path / "work" / "nb.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--allow-root", "--no-browser", f"--port={port}", "--IdentityProvider.token=", f"--ServerApp.root_dir={tmp_path / 'work'}"]
    environment = {**os.environ, "HOME": str(tmp_path)}
    address = f"http://127.0.0.1:{port}"
    with open(tmp_path / "lab.log", "w") as log:
        process = subprocess.Popen([sys.executable, "-m", "jupyterlab", *options], stdout=log, stderr=log, env=environment)
    while process.poll() is None and not answers(f"{address}/api"):
        time.sleep(0.5)
    yield f"{address}/lab/tree/nb.ipynb"
    process.terminate()
    process.wait(LONG)


def answers(address: str) -> bool:
    """Whether a server is there."""
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except OSError:
        return False


@pytest.mark.browser
@pytest.mark.skipif(not (HAS_BROWSER and HAS_LAB and IS_INSTALLED), reason="needs JupyterLab, jupyterlab-lsp, mpslint[lsp] and Chromium")
def test_the_findings_of_a_notebook_are_underlined_in_its_cells(lab: str, tmp_path: Path) -> None:
    """As many as `check` finds, each at its text."""
    command = [sys.executable, "-m", "mpslint", "check", str(tmp_path / "work" / "nb.ipynb"), "--isolated", "--format", "json"]
    report = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
    findings = [(one["severity"], one["text"]) for file in report["files"] for one in file["findings"]]
    assert CHROMIUM is not None
    drive = ["node", str(PAGE / "test" / "lab.mjs"), lab, CHROMIUM, str(len(findings)), str(tmp_path)]
    subprocess.run(drive, capture_output=True, text=True, timeout=300)
    shown = json.loads((tmp_path / "shown.json").read_text())

    words = {"note": "info"}
    assert sorted(map(tuple, shown)) == sorted((words.get(severity, severity), text) for severity, text in findings)
