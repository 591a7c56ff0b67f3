"""`python -m tests.verify.warm SOCKET` does the jobs of verify's child processes in forks of this one process, as the child does them.

Importing torch and transformers takes most of the time of a short run; here it is paid once. `run` stands for `process.run`: each job has
its process, environment, folder, output, time limit and, where it is confined, Landlock and the filter of system calls; a namespace it has
not. What watches over a process tree (the keeper, memory, disk) is left to tests of the real one.
"""

from __future__ import annotations

import json
import os
import select
import signal
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
from tests.warm import TICK, begin, serve

CAN = sys.platform == "linux"
"""Whether a process that has imported torch may fork here."""
CHILD = "mpslint.verify.child"


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
    with tempfile.TemporaryFile() as output, begin(__name__, job, [output.fileno(), *descriptors]) as line:
        while not stopped and not select.select([line], [], [], TICK)[0]:
            if time.monotonic() - start > limits.seconds:
                stopped = f"it ran longer than {limits.seconds:.0f} seconds"
            if watch is not None:
                watch()
        if not stopped:
            code = int(line.recv(16))
        output.seek(0)
        return ChildEnd(code, stopped, output.read()[-KEPT_OUTPUT:].decode("utf-8", "replace"))


def _warm_up() -> None:
    """Import what most runs need, and have torch import what it needs for its first steps."""
    os.environ.update(OFFLINE)
    import torch

    from mpslint.verify.child.device import leave_cuda_out
    from mpslint.verify.child.dynamo import leave_compiler_out

    torch.set_num_threads(1)
    leave_compiler_out()
    leave_cuda_out()  # a driver that one process has started, its forks can't use
    import datasets  # noqa: F401
    import transformers  # noqa: F401

    from mpslint.verify.child import __main__, run_script  # noqa: F401
    from mpslint.verify.emulator.accumulate import last_reference

    last_reference()
    for table in (rules_folder() / "platform").glob("*.yaml"):
        platform_data(table.stem)
    for device in ("meta", "cpu"):
        layer = torch.nn.Linear(2, 2, device=device)
        layer(torch.ones(1, 2, device=device)).sum().backward()
        torch.optim.AdamW(layer.parameters()).step()


def _do(job: Mapping[str, Any], descriptors: Sequence[int]) -> NoReturn:
    """Be the child of a job."""
    from mpslint.verify.child import __main__ as child

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
    _warm_up()
    serve(sys.argv[1], _do)
