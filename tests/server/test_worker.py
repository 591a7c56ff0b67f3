"""The server ends when it is told to, whatever its thread is doing."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("pygls")

from mpslint.server.desk import Worker
from tests import ROOT
from tests.server.test_wire import EXIT, GOODBYE, START, frame

LONG = 60
"""Seconds after which a server that goes on is taken for one that never ends."""
BUSY = """
import itertools, sys, threading, time
sys.path.insert(0, {root!r})
from mpslint.server import desk
def endless(*_):
    sys.stderr.write("busy\\n")
    sys.stderr.flush()
    {work}
desk.judge_snapshot = endless
from mpslint.cli import main
sys.argv = ["mpslint", "server"]
main()
"""
WORK = {
    "computes": "sum(1 for _ in itertools.count())",
    "computes without letting go": "sum(itertools.repeat(0, 10**8)); threading.Event().wait()",
    "waits": "threading.Event().wait()",
    "waits for a thread of its own": "thread = threading.Thread(target=time.sleep, args=(600,), daemon=True); thread.start(); thread.join()",
}


@pytest.mark.parametrize("said", [(GOODBYE, EXIT), (EXIT,), ()], ids=["goodbye", "exit", "end of input"])
@pytest.mark.parametrize("work", WORK)
def test_the_server_ends_while_it_checks(tmp_path: Path, work: str, said: tuple[bytes, ...]) -> None:
    """A document of a large folder was checked to its end before the process ended."""
    path = tmp_path / "x.py"
    document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": "import torch\n"}
    line = [sys.executable, "-c", BUSY.format(root=str(ROOT), work=WORK[work])]
    with subprocess.Popen(line, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stderr is not None
        try:
            server.stdin.write(START + frame(method="textDocument/didOpen", params={"textDocument": document}))
            server.stdin.flush()
            assert server.stderr.readline() == b"busy\n"
            _, errors = server.communicate(b"".join(said), timeout=LONG)
        finally:
            server.kill()

    assert (server.returncode, errors) == (0 if GOODBYE in said else 1, b"")


def test_work_is_done_in_order_and_gives_what_it_raises() -> None:
    """What was cancelled before its turn is not done."""
    worker, gate, done = Worker(), threading.Event(), list[int]()
    worker.submit(gate.wait)
    first, cancelled, last = (worker.submit(done.append, number) for number in range(3))
    wrong = worker.submit(int, "x")
    assert cancelled.cancel()
    gate.set()

    assert isinstance(wrong.exception(LONG), ValueError)
    assert first.done()
    assert last.done()
    assert done == [0, 2]
