"""One warm process and its forks, for tests of what takes long to start: imports are paid once, and each job has a process of its own.

A module that can be run as `python -m MODULE SOCKET` calls `serve` with what to import and what a fork does; tests call `begin`.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tests import ROOT

TICK = 0.02
Do = Callable[[Mapping[str, Any], Sequence[int]], NoReturn]
"""What a fork does with a job and its descriptors."""


def begin(module: str, job: Mapping[str, Any], descriptors: Sequence[int]) -> socket.socket:
    """Have a fork do a job, and return the line on which its exit code comes; the fork is ended when no more can come on the line from here."""
    line = socket.socket(socket.AF_UNIX)
    line.connect(_server(module))
    socket.send_fds(line, [json.dumps(job).encode() + b"\n"], descriptors)
    return line


@functools.cache
def _server(module: str) -> str:
    """Return the address of the warm process of a module, which ends with this one."""
    address = str(Path(tempfile.mkdtemp(prefix="warm-")) / "socket")
    server = subprocess.Popen([sys.executable, "-m", module, address], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(server.communicate)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return address


def serve(address: str, do: Do) -> None:
    """Give each job that comes to a fork, until the standard input ends."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        while True:
            ready = select.select([listener, sys.stdin], [], [])[0]
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            if sys.stdin in ready:
                os.unlink(address)
                os.rmdir(os.path.dirname(address))
                return
            line, _ = listener.accept()
            if not os.fork():
                listener.close()
                _keep(line, do)
            line.close()


def _keep(line: socket.socket, do: Do) -> NoReturn:
    """Start a job, and end it when whoever asked for it is gone; answer with its exit code."""
    text, descriptors, _, _ = socket.recv_fds(line, 2**20, 64)
    while not text.endswith(b"\n"):
        text += line.recv(2**20)
    number = os.fork()
    if not number:
        line.close()
        os.setsid()
        do(json.loads(text), descriptors)
    while not (ended := os.waitpid(number, os.WNOHANG))[0]:
        if select.select([line], [], [], TICK)[0]:
            for end in (os.killpg, os.kill):  # it may not have a group of its own yet
                with contextlib.suppress(ProcessLookupError):
                    end(number, signal.SIGKILL)
            ended = os.waitpid(number, 0)
            break
    with line, contextlib.suppress(OSError):
        line.send(str(os.waitstatus_to_exitcode(ended[1])).encode())
    os._exit(0)
