"""A diff is what `git apply` and `patch` take, whatever the name of the file."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mpslint.rewrite.diff import unified_diff


@pytest.mark.skipif(shutil.which("git") is None or sys.platform == "win32", reason="git applies the diff; Windows takes no such names")
@pytest.mark.parametrize("name", ["a.py", "a b.py", "a\nb.py", 'a"b.py', "a\\b.py", "a\tb c.py", "é.py"])
def test_git_finds_the_file_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A line end in a name is written as git writes it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(b"x = 1\n")
    patch = unified_diff(name, b"x = 1\n", b"x = 2\n").encode()
    subprocess.run(["git", "apply", "--unsafe-paths", "--directory=.", "-"], input=patch, check=True, capture_output=True)

    assert (tmp_path / name).read_bytes() == b"x = 2\n"
