"""What a check, a fix and a plan say of a file that somebody named and that can't be read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.warm_command import mpslint

DEEP = "[" * 100_000 + "]" * 100_000
UNREADABLE: dict[str, str | bytes | Callable[[str], None]] = {
    "deep.json": DEEP,
    "deep.yaml": DEEP,
    "deep.ipynb": f'{{"cells": {DEEP}}}',
    "deep.py": "x = " + "[" * 1_000 + "]" * 1_000,
    "operators.py": "import torch\nx = " + "-" * 30_000 + "1",
    "cut.json": '{"fp16": tru',
    "cut.yaml": "a: [1\nb: {",
    "cut.ipynb": '{"cells": [',
    "cut.py": "def (:",
    "comments.json": '{\n// c\n"a": 1}',
    "lines.json": '{"a": 1}\n{"a": 2}\n',
    "alias.yaml": "a: *none\n",
    "large.json": "[" + "1," * 500_000 + "1]",
    "lines.py": "x=1\n" * 300_000,
    "null.py": b"\0" * 9,
    "null.sh": b"\0" * 9,
    "null.env": b"\0" * 9,
    "null.json": b"\0" * 9,
    "Makefile": b"\0" * 9,
    "Dockerfile": b"\0" * 9,
    "latin.py": "x = 'ä'".encode("latin-1"),
    "utf16.py": "import torch".encode("utf-16"),
    "coding.py": "# coding: nonsense\n",
    "notes.md": "# notes",
    "pins.txt": "torch==2.1",
    "sparse.py": lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 101_000_000),
    "round.py": lambda path: os.symlink(os.path.basename(path), path),
    "gone.py": lambda path: os.symlink("nowhere", path),
    "none.py": lambda path: None,
}
if hasattr(os, "mkfifo"):
    UNREADABLE["pipe.py"] = os.mkfifo
    UNREADABLE["zero.json"] = lambda path: os.symlink("/dev/zero", path)


@pytest.mark.parametrize("command", ["check", "fix", "plan"])
@pytest.mark.parametrize("name", UNREADABLE)
def test_a_named_file_that_cannot_be_read_is_one_line(tmp_path: Path, name: str, command: str) -> None:
    """Never silence, and never the exit code of a clean file."""
    made = UNREADABLE[name]
    if callable(made):
        made(str(tmp_path / name))
    else:
        (tmp_path / name).write_bytes(made.encode() if isinstance(made, str) else made)
    done = mpslint([command, name], tmp_path, {**os.environ, "MPSLINT_CACHE_DIR": str(tmp_path / "cache")})

    assert done.returncode == 3
    assert done.stderr.decode().startswith(f"mpslint: {name}:")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    ("name", "text"), [("t.yaml", "a: {{ x }}\n{% if y %}\nb: 1\n"), ("empty.json", ""), ("two.yaml", "a: 1\n---\nb: 2\n")]
)
def test_a_template_or_an_empty_file_is_no_broken_one(tmp_path: Path, name: str, text: str) -> None:
    """What pre-commit names may be a template of something else; below a folder, data may be as broken as it likes."""
    (tmp_path / name).write_text(text)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cut.json").write_text("{")

    assert mpslint(["check", name, "data"], tmp_path, os.environ).returncode == 0


WRONG = {
    "an unknown rule": '[tool.mpslint]\nignore = ["E501"]\n',
    "an unknown key": "[tool.mpslint]\nline-length = 100\n",
    "no version": '[tool.mpslint.target]\ntorch = "newest"\n',
    "no folder of rules": '[tool.mpslint]\nrules = ["none"]\n',
    "a link out": '[tool.mpslint]\nrules = ["/etc"]\n',
    "no pattern": '[tool.mpslint]\nexclude = ["bad\\\\"]\n',
    "no TOML": "x = [",
}
"""Configurations that cannot be obeyed."""


@pytest.fixture
def beside(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A project of two folders, one of which has a configuration that is wrong, and a script that may import that of the other."""
    for name in ("right", "wrong"):
        (tmp_path / name).mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "right" / "train.py").write_text("from transformers import TrainingArguments\nargs = TrainingArguments('out', fp16=True)\n")
    (tmp_path / "wrong" / "train_all.py").write_text("import torch, train\ntorch.ones(1).to('mps').double()\n")
    (tmp_path / "wrong" / "pyproject.toml").write_text(request.param)
    return tmp_path


@pytest.mark.parametrize("beside", WRONG.values(), ids=WRONG, indirect=True)
@pytest.mark.parametrize("command", ["check", "fix", "plan", "check -j 2"])
def test_a_wrong_configuration_that_nobody_asked_about_stops_nothing(beside: Path, command: str) -> None:
    """Of what is imported or started around the files that were named: one line, and the defaults; it stops what was asked about."""
    environment = {**os.environ, "MPSLINT_CACHE_DIR": str(beside / "cache")}
    done = mpslint([*command.split(), "right/train.py"], beside, environment)
    assert done.returncode == (0 if command == "plan" else 1)
    assert b"right/train.py" in done.stdout
    assert done.stderr.count(b"\n") == 1
    assert b"wrong/pyproject.toml: " in done.stderr
    assert b"judged by the defaults" in done.stderr

    for paths in (["wrong"], ["."], ["right/train.py", "wrong/train_all.py"]):
        done = mpslint([*command.split(), *paths], beside, environment)
        assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)
        assert b"judged by the defaults" not in done.stderr
