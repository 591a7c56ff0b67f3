"""Foreign code in a process of its own: bounded, explained, and nothing of it left running."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mpslint.verify import work
from mpslint.verify.process import KEPT_OUTPUT, MARK, Ended, Limits, processes, run


def bounded(code: str, folder: Path, **limits: float) -> Ended:
    """Run Python code within limits."""
    bounds = Limits(**{"seconds": 60.0, **limits})  # type: ignore[arg-type]
    return run([sys.executable, "-c", code], folder, dict(os.environ), bounds)


def is_left(word: str) -> bool:
    """Return whether a process with this word on its command line is running."""
    time.sleep(0.2)
    listed = subprocess.run(["ps", "-axwwo", "stat=,command="], capture_output=True, text=True, check=False).stdout
    return any(word in line and not line.startswith("Z") for line in listed.splitlines())


def test_a_loop_for_ever_is_ended(tmp_path: Path) -> None:
    """A run that does not end is stopped at its time, and said so."""
    ended = bounded("import time\nwhile True: time.sleep(0.1)  # forever-mark", tmp_path, seconds=1)

    assert "longer than 1 seconds" in ended.stopped
    assert ended.seconds < 15
    assert not is_left("forever-mark")


def test_children_and_daemons_are_ended(tmp_path: Path) -> None:
    """Children, grandchildren and processes that left the session go with the run."""
    code = (
        "import os, subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)  # child-mark'])\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(60)  # daemon-mark'])\n"
        "    os._exit(0)\n"
        "time.sleep(0.5)\n"
    )
    ended = bounded(code, tmp_path)

    assert ended.code == 0
    assert not is_left("child-mark")
    assert not is_left("daemon-mark")


def test_a_handler_that_ignores_signals_is_killed(tmp_path: Path) -> None:
    """A process that ignores being asked is killed."""
    code = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)  # stubborn-mark"
    ended = bounded(code, tmp_path, seconds=1)

    assert ended.code == -9
    assert not is_left("stubborn-mark")


def test_memory_is_bounded(tmp_path: Path) -> None:
    """A run that takes too much memory is stopped."""
    ended = bounded("import time\nkept = b'x' * 600_000_000\ntime.sleep(30)", tmp_path, memory=300 * 2**20)

    assert "GB of memory" in ended.stopped


def test_output_is_bounded_and_its_end_is_kept(tmp_path: Path) -> None:
    """A run may print a lot: the last part is kept; past the bound it is stopped."""
    code = "import sys\nfor i in range(300000): sys.stdout.write('x' * 99 + chr(10))\nprint('the end')"
    ended = bounded(code, tmp_path)
    assert ended.output.endswith("the end\n")
    assert len(ended.output) <= KEPT_OUTPUT
    assert "printed more" in bounded(code, tmp_path, output=10**6).stopped


def test_questions_find_nobody(tmp_path: Path) -> None:
    """A run that asks for input gets none, instead of waiting."""
    assert "EOFError" in bounded("input('name? ')", tmp_path).output


def test_every_process_is_marked(tmp_path: Path) -> None:
    """The mark by which a run's processes are found is in its environment."""
    assert bounded(f"import os; print(len(os.environ['{MARK}']))", tmp_path).output == "32\n"
    assert os.getpid() in {row[0] for row in processes()}


def test_secrets_do_not_reach_the_child_nor_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of tokens and passwords are hidden from the code that runs, and taken out of what it printed."""
    monkeypatch.setenv("HF_TOKEN", "hf_very_secret")
    monkeypatch.setenv("WANDB_API_KEY", "key_very_secret")
    monkeypatch.setenv("PLAIN", "plain")
    environment = work.child_environment()

    assert environment["HF_TOKEN"] == environment["WANDB_API_KEY"] == work.HIDDEN
    assert environment["PLAIN"] == "plain"
    assert work.hide_secrets("a hf_very_secret b key_very_secret") == "a <HF_TOKEN> b <WANDB_API_KEY>"
