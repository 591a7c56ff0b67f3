"""`mpslint config` says what is in force for a path and where each part of it comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mpslint.session.session import Options, files_of
from tests.cli.test_cli import BAD, run
from tests.notebooks import notebook

FILE = """
ignore = ["MPS101"]
exclude = ["old/"]
per-file-ignores = {"*.ipynb" = ["MPS001"]}
target = {torch = "2.9", memory = "16GB"}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with a configuration, pins and a notebook that installs a version itself."""
    (tmp_path / "mpslint.toml").write_text(FILE)
    (tmp_path / "requirements.txt").write_text("torch==2.3.0\ntransformers==4.40.0\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "train.py").write_text(BAD)
    (tmp_path / "n.ipynb").write_bytes(notebook("%pip install accelerate==0.30.0\n", BAD))
    return tmp_path


def data(*arguments: str, cwd: Path) -> dict[str, Any]:
    """Return what `mpslint config --format json` gives."""
    done = run("config", *arguments, "--format", "json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_each_key_has_its_source(folder: Path) -> None:
    """The nearest file, or the default."""
    found = data("sub/train.py", cwd=folder)
    file = str(folder / "mpslint.toml")

    assert found["file"] == file
    assert found["keys"]["ignore"] == {"value": ["MPS101"], "source": file}
    assert found["keys"]["severity"] == {"value": "note", "source": "default"}
    keys = {"select", "ignore", "exclude", "per-file-ignores", "severity", "unsafe", "this-mac-only", "target", "rules", "stubs"}
    assert set(found["keys"]) == keys
    assert found["rules"]["left_out"] == {"MPS101": "ignore", "MPS602": "on request"}


def test_the_target_has_its_sources(folder: Path) -> None:
    """Configuration before pins, options before both; a notebook's own installs count."""
    found = data("n.ipynb", "--macos", "15.1", "--chip", "m2", cwd=folder)
    target = found["target"]

    assert target["torch"] == {"version": "2.9", "source": "configuration"}
    assert target["transformers"] == {"version": "4.40.0", "source": "requirements.txt"}
    assert target["accelerate"] == {"version": "0.30.0", "source": "cell 1"}
    assert target["macos"] == {"version": "15.1", "source": "option"}
    assert found["memory_gib"] == {"value": 16, "source": "configuration"}
    assert found["chip"] == {"value": "m2", "source": "option"}
    assert found["rules"]["left_out"] == {"MPS001": "per-file-ignores", "MPS101": "ignore", "MPS602": "on request"}


def test_without_a_file_the_defaults_hold(folder: Path) -> None:
    """For a folder as for standard input."""
    found = data(".", "--isolated", cwd=folder)
    assert found["file"] is None
    assert {key["source"] for key in found["keys"].values()} == {"default"}
    assert data("-", "--config", "mpslint.toml", cwd=folder)["keys"]["ignore"]["value"] == ["MPS101"]


def test_the_text_says_the_same(folder: Path) -> None:
    """With paths from where one is."""
    text = run("config", "n.ipynb", cwd=folder).stdout

    assert "Configuration: mpslint.toml\n" in text
    assert [line.split() for line in text.splitlines() if line.startswith("ignore")] == [["ignore", "MPS101", "mpslint.toml"]]
    assert "*.ipynb = MPS001" in text
    assert "left out by per-file-ignores: MPS001" in text
    assert "no file found" in run("config", ".", "--isolated", cwd=folder).stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["gone.py"], 3, "gone.py: no such file"),
        (["--config", "gone.toml"], 2, "no such configuration file"),
        (["--torch", "new"], 2, "is not a version"),
        (["bad"], 2, "unknown key 'selct'; did you mean 'select'?"),
    ],
)
def test_what_is_wrong_is_one_line(folder: Path, arguments: list[str], code: int, said: str) -> None:
    """Never a traceback."""
    (folder / "bad").mkdir()
    (folder / "bad" / "mpslint.toml").write_text("selct = []")
    done = run("config", *arguments, cwd=folder)

    assert (done.returncode, len(done.stderr.splitlines())) == (code, 1)
    assert said in done.stderr


def test_the_nearest_configuration_excludes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the check begins in its folder or above it; its patterns count from its folder."""
    for name in ("gen/a.py", "sub/a.py", "sub/gen/a.py", "sub/deep/gen/a.py", "other/a.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    (tmp_path / "mpslint.toml").write_text('exclude = ["other/"]\n')
    (tmp_path / "sub" / "mpslint.toml").write_text('exclude = ["/gen/"]\n')

    monkeypatch.chdir(tmp_path)
    assert [found.path for found in files_of(["."], Options())] == ["gen/a.py", "sub/a.py", "sub/deep/gen/a.py"]
    assert [found.path for found in files_of(["sub/gen/a.py"], Options())] == ["sub/gen/a.py"]
    monkeypatch.chdir(tmp_path / "sub")
    assert [found.path for found in files_of(["."], Options())] == ["a.py", "deep/gen/a.py"]
