"""The command line in forks of one warm process: as `python -m mpslint`, but that nobody waits for imports and for rules to be read."""

from __future__ import annotations

import importlib.util
import io
import os
import runpy
import select
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

from click.testing import CliRunner

from mpslint.cli import group
from tests.warm import begin, serve

WARMS_UP = "from transformers import TrainingArguments\nargs = TrainingArguments('out', fp16=True)\n"


def mpslint(
    arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], stdin: str | bytes = ""
) -> subprocess.CompletedProcess[bytes]:
    """Run mpslint in a folder, in a process of its own with this environment, and return what it said."""
    with tempfile.TemporaryFile() as said:
        said.write(stdin if isinstance(stdin, bytes) else stdin.encode())
        said.seek(0)
        started = Started(arguments, cwd, environment, said.fileno())
    with started.stdin, started.stdout, started.stderr, ThreadPoolExecutor(1) as reader:
        errors = reader.submit(started.stderr.read)
        output = started.stdout.read()
        return subprocess.CompletedProcess(list(arguments), started.wait(), output, errors.result())


class Started:
    """mpslint at work, with pipes to and from it, or with an open file to read from: what tests ask of a Popen."""

    def __init__(self, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], said: int | None = None) -> None:
        (stdin, to), (from_out, stdout), (from_error, stderr) = os.pipe(), os.pipe(), os.pipe()
        job = {"arguments": list(arguments), "cwd": str(cwd), "environment": dict(environment)}
        self.line = begin(__name__, job, [stdin if said is None else said, stdout, stderr])
        for theirs in (stdin, stdout, stderr):
            os.close(theirs)
        self.stdin, self.stdout, self.stderr = os.fdopen(to, "wb"), os.fdopen(from_out, "rb"), os.fdopen(from_error, "rb")
        self.code: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code. Raises TimeoutExpired where it does not come in time."""
        if self.code is None:
            if not select.select([self.line], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("mpslint", timeout or 0)
            self.code = int(self.line.recv(16))
            self.line.close()
        return self.code

    def kill(self) -> None:
        """End it, if it has not ended."""
        if self.code is None:
            self.line.send(b"end")


def _warm_up() -> None:
    """Import what a check needs, and read the rules."""
    warmed = CliRunner().invoke(group, ["check", "-", "--isolated", "--no-cache"], input=WARMS_UP)
    assert warmed.exit_code == 1, warmed.output
    if importlib.util.find_spec("pygls"):
        import mpslint.server.language_server  # noqa: F401


def _run(job: Mapping[str, Any], streams: Sequence[int]) -> NoReturn:
    """Be the command line of a job."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, max(streams) + 1)
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["environment"])
    if "PYTHONWARNINGS" in os.environ:
        warnings.simplefilter(os.environ["PYTHONWARNINGS"])  # type: ignore[arg-type]
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
    _warm_up()
    serve(sys.argv[1], _run)
