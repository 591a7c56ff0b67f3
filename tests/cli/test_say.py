"""A full or closed standard output is said in one place, for whatever command and format was to be printed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from mpslint.cli import group
from tests import ROOT, warm_command
from tests.warm import begin

BAD = "from transformers import TrainingArguments\nargs = TrainingArguments('out', fp16=True, dataloader_pin_memory=False)\n"
CONTEXT = click.Context(group)
LINES = {
    "check": [["bad.py"], ["bad.py", "-q"], ["bad.py", "--statistics"], ["bad.py", "--show-files"], ["bad.py", "--add-ignore"], ["-"]],
    "clean": [[]],
    "completion": [["bash"]],
    "config": [["bad.py"], ["--schema"]],
    "diagnose": [["--message", "RuntimeError: MPS backend out of memory"], ["-"]],
    "doctor": [["--no-torch"]],
    "explain": [["MPS101"]],
    "fix": [["bad.py"], ["bad.py", "--apply"], ["bad.py", "--diff"], ["bad.py", "--fix-only"], ["-"], ["-", "--apply"]],
    "plan": [["bad.py"]],
    "report": [["--no-torch"]],
    "rules": [[], ["--schema"]],
    "run": [],
    "server": [["--check"]],
    "verify": [],
}
"""What each command prints something for; `run` and `verify` take a training."""


def lines() -> Iterator[list[str]]:
    """Yield every command and option that prints, in every format."""
    yield from (["--version"], ["--version", "--verbose"], ["--help"], ["-V"])
    for name in group.list_commands(CONTEXT):
        command = group.get_command(CONTEXT, name)
        assert command is not None
        yield [name, "--help"]
        kinds = [option.type for option in command.params if option.name == "output_format"]
        formats = [["--format", one] for kind in kinds if isinstance(kind, click.Choice) for one in kind.choices]
        for words in LINES[name]:
            for written in formats if len(formats) and words == LINES[name][0] else [[]]:
                yield [name, *words, *written]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a script that has a finding."""
    (tmp_path / "bad.py").write_text(BAD)
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a command whose cache and home are in the folder."""
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "MPSLINT_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(ROOT)}


def told(line: list[str], folder: Path, output: int) -> tuple[int, str]:
    """Return the exit code of a command with a standard output, and what it says on standard error."""
    job = {"arguments": line, "cwd": str(folder), "environment": environment(folder)}
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
        given.write(BAD.encode())
        given.seek(0)
        with begin(warm_command.__name__, job, [given.fileno(), output, errors.fileno()]) as ended:
            code = int(ended.recv(16))
        errors.seek(0)
        return code, errors.read().decode()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize("line", list(lines()), ids=" ".join)
def test_a_full_disk_is_one_line(folder: Path, line: list[str]) -> None:
    """With an exit code of its own, which neither findings nor Python have."""
    with open("/dev/full", "wb") as full:
        code, said = told(line, folder, full.fileno())

    assert (code, said) == (3, "mpslint: standard output cannot be written: No space left on device\n")


@pytest.mark.parametrize("line", list(lines()), ids=" ".join)
def test_a_reader_that_went_away_costs_no_line(folder: Path, line: list[str]) -> None:
    """As in `mpslint check . | head -0`: the exit code alone says that text was lost."""
    read, write = os.pipe()
    os.close(read)
    code, said = told(line, folder, write)
    os.close(write)

    assert (code, said) == (3, "")


@pytest.mark.skipif(sys.platform == "win32", reason="bash closes the stream")
@pytest.mark.parametrize("line", ["--version", "--help", "check bad.py", "fix - --apply", "rules --format json"])
def test_a_closed_standard_output_is_one_line(folder: Path, line: str) -> None:
    """Before anything is done: what a command would say cannot be said."""
    command = ["bash", "-c", f"{sys.executable} -m mpslint {line} >&-"]
    done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (3, "mpslint: standard output is closed; send it to a file or to /dev/null\n")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes wait there")
def test_a_pipe_that_does_not_wait_gets_everything(folder: Path) -> None:
    """A shared terminal or pipe may be made one that refuses what it has no room for."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    job = {"arguments": ["rules", "--format", "json"], "cwd": str(folder), "environment": environment(folder)}
    with begin(warm_command.__name__, job, [read, write, 2]) as ended:
        os.close(write)
        with open(read, "rb") as stream:
            text = stream.read()
        assert ended.recv(16) == b"0"
    assert len(text) > 1 << 16
    assert text.endswith(b"]\n")


def test_a_full_standard_error_changes_no_exit_code(folder: Path) -> None:
    """It says what could not be said."""
    for name, code in (("bad.py", 1), ("nope.py", 3)):
        command = ["bash", "-c", f"{sys.executable} -m mpslint check {name} -v 2>/dev/full"]
        assert subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, check=False).returncode == code
