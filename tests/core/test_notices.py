"""What lies in the place of a file that mpslint looks for, and is none, costs one line, wherever it looks."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mpslint.core.own_folder import TAG
from mpslint.project.imports import DEBUGGER
from mpslint.project.resolve import MARKS
from mpslint.session.configuration import SHARED_FILE
from mpslint.source.reader import _SUFFIXES
from mpslint.target.pins import pin_file_globs
from tests import LONG
from tests.warm_command import Started

NAMES = tuple(
    dict.fromkeys(
        (
            *(glob.replace("*", "x") for glob in pin_file_globs()),
            *(f"x{suffix}" for suffix in _SUFFIXES),
            *MARKS, SHARED_FILE, TAG, DEBUGGER, ".env", "GNUmakefile", "Containerfile", "readme.txt", "helper.py", "package/__init__.py", "of/run.yaml",
        )
    )
)  # fmt: skip
"""Every name that mpslint has for a file, in a project whose script imports `helper` and `package`, and is started with `of/run.yaml`."""
ANY_NAME = (
    *(f"x{suffix}" for suffix in _SUFFIXES),
    ".env",
    "GNUmakefile",
    "Containerfile",
    DEBUGGER,
    "helper.py",
    "package/__init__.py",
    "of/run.yaml",
)
"""Those that a folder may have."""
SCRIPT = "import helper, package\nfrom transformers import TrainingArguments\nargs = TrainingArguments('out', fp16=True)\n"


def _socket(path: str) -> None:
    os.chdir(os.path.dirname(path))  # the address of a socket is short
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(os.path.basename(path))


def told(folder: Path, words: str) -> tuple[int, str, str]:
    """Return the exit code of a command, and what it prints, which has to come in time."""
    started = Started(words.split(), folder, {**os.environ, "MPSLINT_CACHE_DIR": str(folder.parent / "cache")})
    with started.stdin, started.stdout, started.stderr:
        try:
            return started.wait(LONG), started.stdout.read().decode(), started.stderr.read().decode()
        finally:
            started.kill()


KINDS: dict[str, Callable[[str], None]] = {
    "pipe": lambda path: os.mkfifo(path),
    "device": lambda path: os.symlink("/dev/zero", path),
    "socket": _socket,
    "folder": lambda path: os.mkdir(path),
}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", ["check .", "check . -j 2", "fix .", "plan ."])
def test_what_is_no_file_costs_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, command: str) -> None:
    """And never a wait, nor an end of the work on what lies beside it."""
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        KINDS[kind](str(tmp_path / name))
    os.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "run.sh").write_text("python train.py --config of/run.yaml\n")
    code, printed, errors = told(tmp_path, command)

    said = [one.removeprefix("mpslint: ").partition(":")[0] for one in errors.splitlines()]
    assert len(said) == len(set(said))
    assert set(said) == set(NAMES) - (set(ANY_NAME) - set(said) if kind == "folder" else set())
    assert all(f": a {kind}, not a file, so passed over" in one for one in errors.splitlines())
    assert code == (0 if command == "plan ." else 1)
    assert "train.py" in printed


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("check train.py --baseline NAMED", 2),
        ("check train.py --config NAMED", 2),
        ("diagnose NAMED", 3),
    ],
)
def test_what_is_no_file_and_was_named_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, words: str, code: int
) -> None:
    """With the exit code that says that the command could not do what it was asked for."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT)
    KINDS[kind](str(tmp_path / "named.py"))
    got, _, errors = told(tmp_path, words.replace("NAMED", "named.py"))

    assert (got, "named.py" in errors, "Traceback" in errors) == (code, True, False)
