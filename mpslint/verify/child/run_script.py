"""Does the job of running foreign code: the stage is set, the code runs, and what it showed is told."""

from __future__ import annotations

import gc
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from mpslint.verify.child.sandbox import guard, keep_signals, no_questions, set_environment
from mpslint.verify.child.script import Stage
from mpslint.verify.child.watchdog import Watchdog
from mpslint.verify.job import Job
from mpslint.verify.outcome import RunResult, StepRecord


def run_script(job: Job, started: float, progress: Callable[[int, int, StepRecord], None], leave: Callable[[RunResult], None]) -> RunResult:
    """Return what the job's script showed. `started` is when the process began, by time.monotonic(); `progress` takes a step, and `leave` a
    result with which the process ends. Raises ReadError with one line when it could not be run at all.
    """
    assert job.script is not None
    seconds = float(os.environ.get("MPSLINT_SECONDS", "600"))
    set_environment(job.script.environment)
    stage = Stage(job, progress, seconds, leave)
    stage.prepare()
    memory = int(os.environ.get("MPSLINT_MEMORY", "0"))
    Watchdog(stage, started, seconds, memory).start()
    keep_signals()
    no_questions(stage.asked_again)
    if job.script.sandbox:
        os.chdir(job.script.folder or Path(job.script.file).parent)
        guard(Path(job.script.sandbox))
    random.seed(0)  # every generator starts at one place, so that the same code gets the same verdict again
    torch.manual_seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)
    gc.freeze()
    gc.enable()
    stage.run()
    return stage.result(time.perf_counter() - stage.started)
