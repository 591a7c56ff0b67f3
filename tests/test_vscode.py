"""The extension for VS Code: what it says of itself is true, and it works in a real editor where there is one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mpslint import __version__
from mpslint.core.links import HOME

ROOT = Path(__file__).parents[1]
EXTENSION = ROOT / "editors" / "vscode"
PACKAGE = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
SCRIPT = (ROOT / "samples" / "clean_trainer.py").read_text(encoding="utf-8").replace('"out",', '"out", fp16=True,')


def test_the_extension_has_the_version_and_the_home_of_mpslint() -> None:
    """And its settings are documented."""
    page = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")

    assert PACKAGE["version"] == __version__
    assert PACKAGE["repository"]["url"] == HOME
    assert all(f"`{name}`" in page for name in PACKAGE["contributes"]["configuration"]["properties"])


def test_every_command_is_registered() -> None:
    """In the source, and no other is."""
    source = (EXTENSION / "src" / "extension.ts").read_text(encoding="utf-8")
    registered = {f"mpslint.{name}" for name in re.findall(r"command\(\"(\w+)\",", source)}

    assert registered == {command["command"] for command in PACKAGE["contributes"]["commands"]}


@pytest.mark.editor
@pytest.mark.skipif("CODE_SERVER" not in os.environ, reason="CODE_SERVER does not name code-server's entry.js")
def test_a_script_and_a_notebook_show_findings_and_take_fixes(tmp_path: Path) -> None:
    """In code-server: the status bar counts them, a lens stands above the Trainer, and fix all leaves none."""
    workspace, pictures = tmp_path / "workspace", tmp_path / "pictures"
    workspace.mkdir()
    (workspace / "bad.py").write_text(SCRIPT)
    shutil.copy(ROOT / "samples" / "summarization.ipynb", workspace / "bad.ipynb")
    command = tmp_path / "mpslint"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mpslint "$@"\n')
    command.chmod(0o755)
    vsix = EXTENSION / f"mpslint-{__version__}.vsix"
    arguments = [os.environ["CODE_SERVER"], str(vsix), str(command), str(workspace), str(pictures)]
    done = subprocess.run(["node", str(EXTENSION / "test" / "editor.mjs"), *arguments], capture_output=True, text=True, timeout=900)

    assert done.returncode == 0, done.stdout + done.stderr
    seen = json.loads(done.stdout)
    assert any("estimate memory" in lens for lens in seen["bad.py"]["lenses"])
    assert any("peak" in lens and " a step on M" in lens for lens in seen["bad.py"]["estimated"])
    report = subprocess.run([str(command), "check", "--format", "json", "--isolated", "."], cwd=workspace, capture_output=True, text=True)
    told = {file["path"]: len(file["findings"]) for file in json.loads(report.stdout)["files"]}
    for name in ("bad.py", "bad.ipynb"):
        assert int(seen[name]["status"].rsplit(" ", 1)[1]) == told[name]
        before, after = (int(seen[name][key].rsplit(" ", 1)[1]) for key in ("status", "fixed"))
        assert after < before
