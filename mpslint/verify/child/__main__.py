"""`python -m mpslint.verify.child JOB DESCRIPTOR` does a job and writes its progress and its result to the descriptor, as lines of JSON."""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from mpslint.core.data import from_data, to_data
from mpslint.core.finding import MpslintError
from mpslint.verify.driver_memory import driver_range
from mpslint.verify.job import Job, LackError
from mpslint.verify.outcome import RunResult, StepRecord, size

STARTED = time.monotonic()
END = os._exit
"""Kept before foreign code can put something else there."""


class Channel:
    """Where the child writes to its parent: a line of JSON for each event."""

    def __init__(self, stream: TextIO, backend: str) -> None:
        self.stream, self.backend = stream, backend
        self._last = 0.0
        self._lock = threading.Lock()

    def send(self, event: str, data: Mapping[str, Any]) -> None:
        """Write one event."""
        with self._lock:
            self.stream.write(json.dumps({"event": event, "data": data}) + "\n")
            self.stream.flush()

    def leave(self, result: RunResult) -> None:
        """Write a result and end the process at once, from whatever thread."""
        self.send("result", to_data(result))
        END(0)

    def progress(self, number: int, total: int, record: StepRecord) -> None:
        """Write how far the work is, a few times a second."""
        now = time.monotonic()
        if now - self._last > 0.2 or number == total:
            self._last = now
            driver = " to ".join(dict.fromkeys(map(size, driver_range(record.driver, record.blocks, self.backend))))
            told = {"live": record.peak, "driver": driver if record.driver >= 0 else "", "shapes": record.shapes}
            self.send("progress", {"done": number, "total": total, **told})


def do(job: Job, channel: Channel) -> Any:
    """Return the result of a job. Each kind imports what it needs, so that a small one starts fast.

    Torch does without its compiler, and without CUDA where the job isn't to measure this machine's GPU.
    """
    from mpslint.verify.child.device import leave_cuda_out
    from mpslint.verify.child.dynamo import leave_compiler_out

    leave_compiler_out()
    if not (job.backend == "cuda" or job.script is None):
        leave_cuda_out()
    if job.script is None:
        from mpslint.verify.child.calibrate import calibrate, device_here

        return calibrate(device_here(), job.machine.origin)
    from mpslint.verify.child.run_script import run_script

    return run_script(job, STARTED, channel.progress, channel.leave)


def main() -> int:
    """Do the job named on the command line; return the exit code."""
    gc.disable()  # torch makes a million objects that stay: none of them is looked through again
    job = from_data(Job, json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    descriptor = int(sys.argv[2])
    os.set_inheritable(descriptor, False)
    return answer(job, descriptor)


def answer(job: Job, descriptor: int) -> int:
    """Do a job and write what comes of it; return the exit code."""
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        channel = Channel(stream, job.backend)
        try:
            channel.send("result", to_data(do(job, channel)))
        except (MpslintError, ImportError, MemoryError) as error:
            lack = {"lack": to_data(error.lack)} if isinstance(error, LackError) else {}
            said = "the process ran out of memory" if isinstance(error, MemoryError) else str(error)
            channel.send("error", {"kind": "expected" if isinstance(error, MpslintError) else "missing", "message": said, **lack})
            return 3
        except BaseException as error:
            channel.send("error", {"kind": "unexpected", "message": f"{type(error).__name__}: {error}"})
            raise
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # Threads and exit handlers of foreign libraries have nothing to add.
    END(code)
