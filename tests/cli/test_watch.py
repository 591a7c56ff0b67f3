"""`check --watch`: a change of a file that is read checks again; Ctrl-C ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import LONG

pytest.importorskip("watchfiles")

BAD = "from transformers import TrainingArguments\nargs = TrainingArguments('out', fp16=True)\n"


@pytest.fixture
def watcher(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A check of a folder that goes on watching it."""
    (tmp_path / "train.py").write_text(BAD)
    command = [sys.executable, "-u", "-m", "mpslint", "check", ".", "--isolated", "--quiet", "--no-cache", "--watch", "--select", "MPS101"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    guard = threading.Timer(LONG, process.kill)
    guard.start()
    yield process
    guard.cancel()
    process.kill()
    process.communicate()


def report(process: subprocess.Popen[str]) -> str:
    """What is printed until the watcher waits again."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("Watching"):
            return "".join(lines)
    raise AssertionError(f"the watcher ended: {lines}")


def test_a_change_is_checked_and_control_c_ends_it(watcher: subprocess.Popen[str], tmp_path: Path) -> None:
    """A saved fix leaves nothing, a new file adds its findings, and a file that isn't read changes nothing."""
    assert "train.py:2:33 " in report(watcher)
    # the watch begins when the first report is out: write until a change is seen
    written = threading.Event()

    def write() -> None:
        while not written.wait(0.3):
            (tmp_path / "train.py").write_text(BAD.replace("fp16=True", "fp16=False"))

    writer = threading.Thread(target=write)
    writer.start()
    after = report(watcher)
    written.set()
    writer.join()
    assert "MPS101" not in after
    (tmp_path / "notes.html").write_text("fp16")
    (tmp_path / "other.py").write_text(BAD)
    while "other.py:2:33 " not in (after := report(watcher)):
        assert "MPS101" not in after

    os.kill(watcher.pid, signal.SIGINT)
    assert watcher.wait(LONG) == 130


@pytest.mark.parametrize(("path", "words"), [("-", "standard input does not change"), ("gone.py", "no such file or folder")])
def test_what_cannot_be_watched_is_said(path: str, words: str, tmp_path: Path) -> None:
    """In one line, with exit code 2."""
    command = [sys.executable, "-m", "mpslint", "check", path, "--watch"]
    done = subprocess.run(command, cwd=tmp_path, input="", capture_output=True, text=True, timeout=LONG)

    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
