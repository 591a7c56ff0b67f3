"""However a command is ended, it leaves no process and no temporary folder behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mpslint.session.running import MOST_IN_CHUNK
from mpslint.verify.keeper import descendants
from tests import LONG, comes_true, runs

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="these are POSIX signals")

LINES = "".join(f"x{number} = torch.zeros({number}).cuda()\n" for number in range(500))


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGHUP", "SIGINT"])
def test_workers_end_with_their_parent(tmp_path: Path, name: str) -> None:
    """check -j 2 leaves no worker, even when it is killed; asked to end, it says so by its exit code."""
    for number in range(2 * MOST_IN_CHUNK):  # each worker gets a chunk
        (tmp_path / f"train{number}.py").write_text("import torch\n" + LINES)
    command = [sys.executable, "-m", "mpslint", "check", "-q", "-j", "2", "--no-cache", str(tmp_path)]
    parent = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    workers: set[int] = set()
    assert comes_true(lambda: workers.update(descendants(parent.pid)) or len(workers) >= 2 or parent.poll() is not None)
    assert parent.poll() is None
    parent.send_signal(getattr(signal, name))
    code = parent.wait(LONG)

    assert code == {"SIGKILL": -9, "SIGTERM": 143, "SIGHUP": 129, "SIGINT": 130}[name]
    assert comes_true(lambda: not any(map(runs, workers))), [worker for worker in workers if runs(worker)]


def test_a_worker_whose_parent_ended_before_it_began_ends() -> None:
    """Whoever is killed right behind a fork leaves a worker that must not wait for a result that nobody takes."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait(LONG)
    worker = f"import time; from mpslint.session.running import _begin; _begin('.', {gone.pid}); time.sleep({LONG})"

    assert subprocess.run([sys.executable, "-c", worker], timeout=LONG).returncode == 1


AT_A_FORK = """
import os, signal
os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGTERM))
from mpslint.cli import main
main()
"""


@pytest.mark.skipif(multiprocessing.get_start_method() != "fork", reason="workers are no forks here")
def test_a_signal_while_workers_start_is_not_lost(tmp_path: Path) -> None:
    """Python calls hooks behind a fork, and forgets what a handler raises in one of them."""
    for number in range(2):
        (tmp_path / f"train{number}.py").write_text("import torch\nx = torch.ones(2).cuda()\n")
    command = [sys.executable, "-c", AT_A_FORK, "check", "-q", "-j", "2", "--no-cache", str(tmp_path)]

    assert subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LONG).returncode == 143


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_verify_of_a_script_ends_with_its_parent(tmp_path: Path, name: str) -> None:
    """verify leaves neither the script nor its copy."""
    pytest.importorskip("torch")
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    (tmp_path / "train.py").write_text("import time\nopen('started', 'w').close()\nwhile True: time.sleep(0.1)\n")
    command = [sys.executable, "-m", "mpslint", "verify", str(tmp_path / "train.py"), "--yes", "--backend", "cpu"]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    parent = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    started: set[int] = set()
    # os.walk passes over the folders that verify removes meanwhile; Path.rglob raises
    assert comes_true(lambda: started.update(descendants(parent.pid)) or any("started" in files for _, _, files in os.walk(scratch)))
    parent.send_signal(getattr(signal, name))
    parent.wait(LONG)

    assert comes_true(lambda: not list(scratch.iterdir()))
    assert comes_true(lambda: not any(map(runs, started))), [process for process in started if runs(process)]


def test_a_killed_run_is_cleared_away_by_the_next(tmp_path: Path) -> None:
    """Two at once leave each other's folder alone; a folder of the user with such a name stays."""
    scratch = tmp_path / "tmp"
    (scratch / "mpslint-run-mine").mkdir(parents=True)
    (tmp_path / "train.py").write_text("import time\nprint('started', flush=True)\ntime.sleep(600)\n")
    environment = {**os.environ, "TMPDIR": str(scratch)}
    line = [sys.executable, "-m", "mpslint", "run"]
    names = {"mpslint-run-mine"}
    parents = []
    for _ in range(2):
        parents.append(subprocess.Popen([*line, str(tmp_path / "train.py")], env=environment, stdout=subprocess.PIPE))
        output = parents[-1].stdout
        assert output is not None
        assert output.readline()
    parents[0].kill()
    for parent, left in zip(parents, (1, 0), strict=True):
        parent.kill()
        parent.communicate()
        subprocess.run([*line, "true"], env=environment, check=True)
        assert len(set(os.listdir(scratch)) - names) == left
    assert names <= set(os.listdir(scratch))


WHILE_LOADING = """
import os, signal, sys
class Loading:
    def find_spec(self, name, path=None, target=None):
        if name == "mpslint.cli":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Loading())
from mpslint.__main__ import main
main()
"""


def test_an_interrupt_while_the_command_line_is_loaded_is_one_line() -> None:
    """Ctrl-C right after the return key."""
    done = subprocess.run([sys.executable, "-c", WHILE_LOADING, "check"], capture_output=True, text=True, timeout=LONG)
    assert (done.returncode, done.stderr) == (130, "mpslint: interrupted\n")
