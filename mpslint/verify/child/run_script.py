"""Runs foreign code: the stage is set, the code runs, what it showed is told, and a watchdog ends what takes too long."""

from __future__ import annotations

import gc
import os
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch.nn.modules.module import register_module_forward_pre_hook

from mpslint.verify.child.device import resident
from mpslint.verify.child.sandbox import guard, keep_signals, no_questions, set_environment
from mpslint.verify.child.script import Stage
from mpslint.verify.emulator.operators import line_in
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
    no_questions(lambda why: stage.leave(f"because {why}", stage.coverage.user_line()))
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


SHARE = 0.97
"""Share of the time limit after which the run is ended from within: the process outside kills without asking."""
SHARE_OF_MEMORY = 0.9
TURN = 0.25
BEFORE_MPS = 60.0
"""Seconds after which a model that computes on the CPU isn't waited for to come to MPS."""
BEFORE_STEPS = 180.0
"""Seconds after which a model's first training step on the CPU isn't waited for: values are worth less than the emulation."""


class Watchdog(threading.Thread):
    """Looks at the clock and at the memory of this process a few times a second."""

    def __init__(self, stage: Stage, started: float, seconds: float, memory: int) -> None:
        super().__init__(daemon=True, name="mpslint-watchdog")
        self.stage, self.started, self.seconds, self.memory = stage, started, seconds, memory
        self.forwards = 0
        self.hook = register_module_forward_pre_hook(self.count)
        self.watched = threading.get_ident()

    def run(self) -> None:
        """Wait for a limit; end the run there."""
        while not (why := self.over()):
            time.sleep(TURN)
        self.stage.leave(why, self.line())

    def over(self) -> str:
        """Return which limit is reached, empty when none is."""
        if time.monotonic() - self.started > SHARE * self.seconds - TURN:
            return f"by the time limit of {self.seconds:.0f} seconds; --timeout raises it"
        if self.memory and resident() > SHARE_OF_MEMORY * self.memory:
            return f"by the memory limit of {self.memory / 2**30:.1f} GiB; --memory-limit raises it"
        return self.shows_nothing(time.monotonic() - self.started)

    def count(self, *call: object) -> None:
        """Count a forward pass."""
        self.forwards += 1

    def shows_nothing(self, seconds: float) -> str:
        """Return why a run without a training step is not waited for any longer, empty while it may still show something.

        Evaluations of one's own loop run whole. On the CPU they take minutes, and say nothing of MPS where the model isn't there.
        """
        clock = self.stage.clock
        if clock.done or not self.forwards:
            return ""
        if clock.memory is not None and not clock.memory.peak and seconds > BEFORE_MPS:
            return f"because its model still computes on the CPU after {BEFORE_MPS:.0f} seconds, and nothing of it is on MPS"
        if clock.memory is None and clock.gauge is None and seconds > BEFORE_STEPS:
            return f"because it reaches no training step within {BEFORE_STEPS:.0f} seconds on the CPU"
        return ""

    def line(self) -> str:
        """Return `file:line` of the innermost frame of the user's code that is running."""
        return line_in(self.stage.lines, sys._current_frames().get(self.watched))
