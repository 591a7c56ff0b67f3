"""`python -m mpslint.verify.child JOBS DESCRIPTOR...` does some jobs and writes the progress and the result of each, as lines of JSON,
to the descriptor of its own. Several share the time that importing torch and transformers takes."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from mpslint.core.finding import MpslintError
from mpslint.verify.job import Job, LackError
from mpslint.verify.outcome import RunResult, StepRecord
from mpslint.verify.record import from_data, to_data

STARTED = time.monotonic()
END = os._exit
"""Kept before foreign code can put something else there."""
FORKS = sys.platform == "linux"
"""Whether a process that has imported torch may go on as several: macOS's own libraries forbid it."""


class Channel:
    """Where the child writes to its parent: a line of JSON for each event."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.started = STARTED
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
            self.send(
                "progress",
                {"done": number, "total": total, "live": record.peak, "driver": record.driver, "shapes": record.shapes},
            )


def prepare(jobs: Sequence[Job]) -> None:
    """Have torch do without its compiler, and without CUDA where no job is to measure this machine's GPU."""
    from mpslint.verify.child.dynamo import leave_compiler_out
    from mpslint.verify.child.no_cuda import leave_cuda_out

    leave_compiler_out()
    if not any(job.backend == "cuda" or job.kind == "calibrate" for job in jobs):
        leave_cuda_out()


def do(job: Job, channel: Channel) -> Any:
    """Return the result of a job. Each kind imports what it needs, so that a small one starts fast."""
    prepare([job])
    if job.kind == "emulate":
        from mpslint.verify.child.emulate import emulate

        return emulate(job.specs[0], job.machine, job.steps, channel.progress)
    if job.kind == "estimate":
        from mpslint.verify.child.estimate import estimate

        return estimate(job.specs[0], job.machine, job.memory_sizes)
    if job.kind == "work":
        from mpslint.verify.child.step_work import step_work

        return step_work(job.specs[0], job.machine)
    if job.kind == "calibrate":
        from mpslint.verify.child.calibrate import calibrate, device_here

        return calibrate(device_here(), job.machine.origin)
    if job.kind == "values":
        from mpslint.verify.child.values import compare

        return compare(job.specs, job.machine, job.steps, channel.progress)
    if job.kind == "device":
        from mpslint.verify.child.device import measure

        return measure(job.specs[0], job.backend, job.steps, channel.progress)
    from mpslint.verify.child.run_script import run_script

    return run_script(job, channel)


def main() -> int:
    """Do the jobs named on the command line; return the exit code."""
    jobs = [from_data(Job, one) for one in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))]
    descriptors = [int(number) for number in sys.argv[2:]]
    for number in descriptors:
        os.set_inheritable(number, False)
    if len(jobs) == 1:
        return answer(jobs[0], descriptors[0])
    warm_up(jobs)
    if not FORKS or (os.cpu_count() or 1) < 2:
        return max([answer(job, number) for job, number in zip(jobs, descriptors, strict=True)])
    started = [_forked(job, number) for job, number in zip(jobs, descriptors, strict=True)]
    return max(abs(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])) for pid in started)


def answer(job: Job, descriptor: int) -> int:
    """Do a job and write what comes of it; return the exit code."""
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        channel = Channel(stream)
        try:
            channel.send("result", to_data(do(job, channel)))
        except MpslintError as error:
            lack = {"lack": to_data(error.lack)} if isinstance(error, LackError) else {}
            channel.send("error", {"kind": "expected", "message": str(error), **lack})
            return 3
        except ImportError as error:
            channel.send("error", {"kind": "missing", "message": str(error), "module": error.name or ""})
            return 3
        except MemoryError:
            channel.send("error", {"kind": "memory", "message": "the process ran out of memory"})
            return 3
        except BaseException as error:
            channel.send(
                "error",
                {"kind": "unexpected", "message": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()},
            )
            raise
    return 0


def warm_up(jobs: Sequence[Job]) -> None:
    """Import all that jobs about runs need, by building a small model of the first one; what is wrong with it its own job says."""
    import contextlib

    prepare(jobs)  # first: what libraries find out about CUDA when they are imported, they keep
    from mpslint.verify.child import emulate, values  # noqa: F401
    from mpslint.verify.child.models import make_config, make_model

    with contextlib.suppress(Exception):
        make_model(jobs[0].specs[0], make_config(jobs[0].specs[0], reduced=True), "meta")


def _forked(job: Job, descriptor: int) -> int:
    """Have a copy of this process do a job; return its number."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = answer(job, descriptor)
        finally:
            sys.stdout.flush()
            END(code)
    return pid


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # Threads and exit handlers of foreign libraries have nothing to add.
    END(code)
