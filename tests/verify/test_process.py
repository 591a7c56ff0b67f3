"""Foreign code in a process of its own: bounded, explained, and nothing of it left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mpslint.verify import keeper, process, work
from mpslint.verify.confinement.room import Room, environment_in
from mpslint.verify.process import KEPT_OUTPUT, MARK, ChildEnd, ChildLimits, run
from tests import LONG, comes_true


def bounded(code: str, folder: Path, **limits: float) -> ChildEnd:
    """Run Python code within limits."""
    bounds = ChildLimits(**{"seconds": LONG, **limits})  # type: ignore[arg-type]
    return run([sys.executable, "-c", code], folder, dict(os.environ), bounds)


def is_left(word: str) -> bool:
    """Return whether a process with this word on its command line is running."""
    listed = subprocess.run(["ps", "-axwwo", "stat=,command="], capture_output=True, text=True, check=False).stdout
    return any(word in line and not line.startswith("Z") for line in listed.splitlines())


def test_a_loop_for_ever_is_ended(tmp_path: Path) -> None:
    """A run that does not end is stopped at its time, and said so."""
    ended = bounded("import time\nwhile True: time.sleep(0.1)  # forever-mark", tmp_path, seconds=1)

    assert "longer than 1 seconds" in ended.stopped
    assert not is_left("forever-mark")


def test_children_and_daemons_are_ended(tmp_path: Path) -> None:
    """Children, grandchildren and processes that left the session go with the run."""
    code = (
        "import os, subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)  # child-mark'])\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(1000)  # daemon-mark'])\n"
        "    os._exit(0)\n"
        "time.sleep(0.5)\n"
    )
    ended = bounded(code, tmp_path)

    assert ended.code == 0
    assert not is_left("child-mark")
    assert not is_left("daemon-mark")


ESCAPED = (
    "import os, sys, time\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    if os.fork() == 0:\n"
    "        command = 'import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(1000)  # WORD'\n"
    "        os.execve(sys.executable, [sys.executable, '-c', command], {})\n"
    "    os._exit(0)\n"
    "time.sleep(0.5)\n"
)
"""A daemon that left its session, its parent and its environment, ignores SIGTERM, and holds the pipe of the output."""


def test_an_error_stops_the_runs_beside_it_and_no_later_ones(tmp_path: Path) -> None:
    """In an editor's server the runs after a failed one ended at once, with a signal that nobody had sent."""
    ends = []

    def work_of(name: str) -> None:
        if name == "fails":
            assert comes_true((tmp_path / "started").exists)
            raise ValueError(name)
        ends.append(bounded("open('started', 'w'); import time; time.sleep(1000)  # beside-mark", tmp_path))

    with pytest.raises(ValueError, match="fails"):
        process.at_once(work_of, ["fails", "runs"])

    assert [one.code for one in ends] == [-signal.SIGTERM]
    assert not is_left("beside-mark")
    assert bounded("print('later')", tmp_path).output == "later\n"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to a child subreaper")
def test_the_table_of_processes_is_not_read_while_a_command_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was read twenty times a second, on a Mac by starting `ps` each time."""
    monkeypatch.setattr(keeper, "_rows", lambda: pytest.fail("it is read"))
    lifeline, other = os.pipe()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.3)"]) as command:
        assert keeper._wait(command, lifeline) == b""
    os.close(lifeline)
    os.close(other)


def test_a_daemon_without_our_mark_is_ended(tmp_path: Path) -> None:
    """An escaped daemon neither survives the run nor keeps it from returning."""
    ended = bounded(ESCAPED.replace("WORD", "escaped-mark"), tmp_path)

    assert ended.code == 0
    assert not is_left("escaped-mark")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to a child subreaper")
def test_a_daemon_does_not_outlast_the_time(tmp_path: Path) -> None:
    """The time limit holds where an escaped daemon holds the output's pipe."""
    ended = bounded(ESCAPED.replace("WORD", "outlasting-mark") + "time.sleep(1000)", tmp_path, seconds=2)

    assert "longer than 2 seconds" in ended.stopped
    assert not is_left("outlasting-mark")


def test_a_kept_pipe_does_not_keep_the_run(tmp_path: Path) -> None:
    """Even with the keeper killed, so that a process holds the output for ever, the run returns."""
    code = (
        "import os, signal\nopen('holder', 'w').write(str(os.getpid()))\nos.kill(os.getppid(), signal.SIGKILL)\n"
        "os.execve('/bin/sleep', ['sleep', '1000'], {})"
    )
    ended = bounded(code, tmp_path, seconds=3)
    os.kill(int((tmp_path / "holder").read_text()), signal.SIGKILL)  # it still holds the output; nobody else ends it

    assert ended.code == -9


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_killed_parent_leaves_nothing(tmp_path: Path, number: int) -> None:
    """However the parent ends, its command ends with it, and the folders that it could not remove are removed."""
    scratch, word = tmp_path / "scratch", f"orphan-{number:d}-mark"
    scratch.mkdir()
    (scratch / "file").write_text("x")
    parent = subprocess.Popen(
        [sys.executable, "-c", (
            "import os, sys; from pathlib import Path; from mpslint.verify.process import ChildLimits, run\n"
            f"code = 'open(\\'started\\', \\'w\\'); import time; time.sleep(1000)  # {word}'\n"
            f"run([sys.executable, '-c', code], Path({str(tmp_path)!r}), dict(os.environ), ChildLimits(), scratch=[Path({str(scratch)!r})])"
        )],
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert comes_true((tmp_path / "started").exists)
    parent.send_signal(number)
    parent.wait(LONG)

    assert comes_true(lambda: not is_left(word))
    if number != signal.SIGINT:  # Python itself turns it into an exception, and the caller of run() cleans up
        assert comes_true(lambda: not scratch.exists())


def test_a_handler_that_ignores_signals_is_killed(tmp_path: Path) -> None:
    """A process that ignores being asked is killed."""
    code = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(1000)  # stubborn-mark"
    ended = bounded(code, tmp_path, seconds=1)

    assert ended.code == -9
    assert not is_left("stubborn-mark")


def test_memory_is_bounded(tmp_path: Path) -> None:
    """A run that takes too much memory is stopped."""
    ended = bounded("import time\nkept = b'x' * 600_000_000\ntime.sleep(1000)", tmp_path, memory=300 * 2**20)

    assert "GiB of memory" in ended.stopped


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


def test_the_environment_of_a_script_is_a_short_list(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Only variables on the list pass, a secret under such a name does not; what the user names does; the home is another."""
    monkeypatch.setenv("HF_TOKEN", "hf_very_secret")
    monkeypatch.setenv("DATABASE_URL", "postgres://ann:secret@host/x")
    monkeypatch.setenv("TORCH_API_TOKEN", "another_secret")
    monkeypatch.setenv("PYTORCH_ENABLE_MPS_FALLBACK", "1")
    monkeypatch.setenv("DATA_DIR", "/data")
    monkeypatch.setenv("PYTHONPATH", f".{os.pathsep}/opt/mine")
    environment = environment_in(Room(tmp_path), ["DATA_DIR", "UNSET"])

    assert not {"HF_TOKEN", "DATABASE_URL", "TORCH_API_TOKEN", "UNSET"} & set(environment)
    assert environment["PYTORCH_ENABLE_MPS_FALLBACK"] == "1"
    assert environment["DATA_DIR"] == "/data"
    assert environment["HOME"] == str(tmp_path / "home")
    assert environment["PYTHONPATH"].split(os.pathsep)[1:] == ["/opt/mine"]


def test_secrets_are_taken_out_of_what_was_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of tokens and passwords are replaced by the names of their variables."""
    monkeypatch.setenv("HF_TOKEN", "hf_very_secret")
    monkeypatch.setenv("WANDB_API_KEY", "key_very_secret")

    assert work.hide_secrets("a hf_very_secret b key_very_secret") == "a <HF_TOKEN> b <WANDB_API_KEY>"


@pytest.mark.parametrize(
    ("code", "limits", "said"),
    [
        ("for i in range(10**6): open(f'{i}.bin', 'wb').write(bytes(10**6))", {"disk": 20_000_000}, "wrote more than 0.0 GiB to the disk"),
        ("for i in range(10**6): open(f'{i}', 'w').close()", {}, "wrote more than 50 files"),
    ],
    ids=["bytes", "files"],
)
def test_the_disk_is_not_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, limits: dict[str, int], said: str) -> None:
    """A child that writes and writes is stopped; what was there before it does not count."""
    monkeypatch.setattr(process, "MOST_FILES", 50)
    for number in range(100):
        (tmp_path / f"before{number}").write_text("x")
    line = [sys.executable, "-c", f"import time\n{code}\ntime.sleep(1000)"]
    ended = process.run(line, tmp_path, dict(os.environ), ChildLimits(seconds=LONG, **limits), scratch=[tmp_path])

    assert said in ended.stopped
