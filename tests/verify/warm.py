"""`python -m tests.verify.warm SOCKET` does the jobs of verify's child processes in forks of this one process, as the child does them.

Importing torch and transformers takes most of the time of a short run; here it is paid once. `run` stands for `process.run`: each job has
its process, environment, folder, output, time limit and, where it is confined, Landlock and the filter of system calls; a namespace it has
not. What watches over a process tree (the keeper, memory, disk) is left to tests of the real one.
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
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from mpslint.core.knowledge import platform_data, rules_folder
from mpslint.verify import process
from mpslint.verify.confinement import enter
from mpslint.verify.process import KEPT_OUTPUT, ChildEnd, ChildLimits
from mpslint.verify.work import OFFLINE

ROOT = Path(__file__).parents[2]
CAN = sys.platform == "linux"
"""Whether a process that has imported torch may fork here."""
CHILD = "mpslint.verify.child"
TICK = 0.02


def run(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    limits: ChildLimits,
    watch: Callable[[], None] | None = None,
    *,
    descriptors: Sequence[int] = (),
    scratch: Sequence[Path] = (),
) -> ChildEnd:
    """Have a command of verify's child done by a fork; run any other command as ever."""
    if CHILD not in command:
        return process.run(command, folder, environment, limits, watch, descriptors=descriptors, scratch=scratch)
    entered = [number for number, word in enumerate(command) if word == enter.__file__]
    arguments = command[command.index(CHILD) + 1 :][: -len(descriptors) or None]
    job = {
        "arguments": arguments,
        "cwd": str(folder),
        "environment": dict(environment),
        "bounds": command[entered[0] + 1] if entered else None,
    }
    start, stopped, code = time.monotonic(), "", -int(signal.SIGKILL)
    with socket.socket(socket.AF_UNIX) as line, tempfile.TemporaryFile() as output:
        line.connect(_server())
        socket.send_fds(line, [json.dumps(job).encode() + b"\n"], [output.fileno(), *descriptors])
        while not stopped and not select.select([line], [], [], TICK)[0]:
            if time.monotonic() - start > limits.seconds:
                stopped = f"it ran longer than {limits.seconds:.0f} seconds"
            if watch is not None:
                watch()
        if not stopped:
            code = int(line.recv(16))
        output.seek(0)
        return ChildEnd(code, stopped, output.read()[-KEPT_OUTPUT:].decode("utf-8", "replace"), time.monotonic() - start)


@functools.cache
def _server() -> str:
    """Return the address of the warm process, which ends with this one."""
    address = str(Path(tempfile.mkdtemp(prefix="warm-")) / "socket")
    environment = {**os.environ, **OFFLINE}
    server = subprocess.Popen(
        [sys.executable, "-m", __name__, address], cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    atexit.register(server.communicate)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return address


def _warm_up() -> None:
    """Import what most runs need, and have torch import what it needs for its first steps."""
    import torch

    from mpslint.verify.child.dynamo import leave_compiler_out

    torch.set_num_threads(1)
    leave_compiler_out()
    import datasets  # noqa: F401
    import transformers  # noqa: F401

    from mpslint.verify.child import __main__, emulate, script, values  # noqa: F401
    from mpslint.verify.emulator.accumulate import last_reference

    last_reference()
    for table in (rules_folder() / "platform").glob("*.yaml"):
        platform_data(table.stem)
    for device in ("meta", "cpu"):
        layer = torch.nn.Linear(2, 2, device=device)
        layer(torch.ones(1, 2, device=device)).sum().backward()
        torch.optim.AdamW(layer.parameters()).step()


def _serve(address: str) -> None:
    """Give each job that comes to a fork, until the standard input ends."""
    _warm_up()
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
                _keep(line)
            line.close()


def _keep(line: socket.socket) -> NoReturn:
    """Start a job, and end it when whoever asked for it is gone; answer with its exit code."""
    text, descriptors, _, _ = socket.recv_fds(line, 2**20, 64)
    while not text.endswith(b"\n"):
        text += line.recv(2**20)
    number = os.fork()
    if not number:
        line.close()
        _do(json.loads(text), descriptors)
    while not (ended := os.waitpid(number, os.WNOHANG))[0]:
        if select.select([line], [], [], TICK)[0]:
            os.killpg(number, signal.SIGKILL)
            ended = os.waitpid(number, 0)
            break
    with line:
        line.send(str(os.waitstatus_to_exitcode(ended[1])).encode())
    os._exit(0)


def _do(job: Mapping[str, Any], descriptors: Sequence[int]) -> NoReturn:
    """Be the child of a job."""
    from mpslint.verify.child import __main__ as child

    os.setsid()
    output, *results = descriptors
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["environment"])
    tempfile.tempdir = None
    sys.modules["datasets"].config.HF_DATASETS_CACHE = Path(os.environ.get("HF_DATASETS_CACHE", job["cwd"]))
    sys.argv = ["child", *job["arguments"], *map(str, results)]
    sys.path[0] = job["cwd"]
    child.STARTED = time.monotonic()
    code = 1
    try:
        if job["bounds"]:
            enter.confine(json.loads(Path(job["bounds"]).read_text()))
        code = child.main()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        child.END(code)


if __name__ == "__main__":
    _serve(sys.argv[1])
