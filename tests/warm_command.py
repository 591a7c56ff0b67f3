"""The command line in forks of one warm process: as `python -m mpslint`, but that nobody waits for imports and for rules to be read.

Run as a module, it starts what its standard input names, one job in JSON a line, and answers each with the exit code.
"""

from __future__ import annotations

import atexit
import functools
import io
import json
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from click.testing import CliRunner

from mpslint.cli import group

ROOT = Path(__file__).parents[1]
WARMS_UP = "from transformers import TrainingArguments\nargs = TrainingArguments('out', fp16=True)\n"


def mpslint(arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], stdin: str = "") -> subprocess.CompletedProcess[bytes]:
    """Run mpslint in a folder, in a process of its own with this environment, and return what it said."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.TemporaryDirectory() as name:
        streams = [Path(name, number) for number in "012"]
        streams[0].write_text(stdin)
        job = {"arguments": list(arguments), "cwd": str(cwd), "environment": dict(environment), "streams": list(map(str, streams))}
        server.stdin.write(json.dumps(job) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        said = [stream.read_bytes() for stream in streams[1:]]
    return subprocess.CompletedProcess(list(arguments), code, *said)


@functools.cache
def _server() -> subprocess.Popen[str]:
    """Return the warm process, which ends with this one."""
    command = [sys.executable, "-m", "tests.warm_command"]
    server = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(server.communicate)
    return server


def _serve() -> None:
    """Run each job in a fork, one after the other."""
    warmed = CliRunner().invoke(group, ["check", "-", "--isolated", "--no-cache"], input=WARMS_UP)
    assert warmed.exit_code == 1, warmed.output
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            _run(json.loads(line))
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _run(job: dict[str, Any]) -> NoReturn:
    """Be the command line of a job."""
    for number, path in enumerate(job["streams"]):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["environment"])
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "utf-8").partition(":")
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), encoding, errors or "strict")
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "wb", closefd=False)), encoding, errors or "strict")
    sys.stderr = io.TextIOWrapper(io.BufferedWriter(io.FileIO(2, "wb", closefd=False)), encoding, "backslashreplace", write_through=True)
    sys.argv[1:] = job["arguments"]
    code: object = 0
    try:
        runpy.run_module("mpslint", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


if __name__ == "__main__":
    _serve()
