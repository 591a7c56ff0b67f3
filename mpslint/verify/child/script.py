"""Runs the user's own script or notebook, shortened: with `mps` served by tensors without values, by the CPU,
or as it is on a Mac."""

from __future__ import annotations

import contextlib
import functools
import linecache
import math
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import _get_current_function_mode_stack

from mpslint.core.finding import MpslintError, ReadError
from mpslint.core.knowledge import platform_data
from mpslint.verify.child.clock import Clock, StopRun
from mpslint.verify.child.conductor import AFTER, FEWEST, FIRST, SIZES, Conductor
from mpslint.verify.child.device import cuda_gauge, mps_gauge
from mpslint.verify.child.drawn_data import Metrics
from mpslint.verify.child.fits import Peaks, answered
from mpslint.verify.child.kept import kept_at_the_end, kept_by_batches, kept_by_line
from mpslint.verify.child.libraries import AfterImport, library_changes
from mpslint.verify.child.nonfinite import Origins, Resets
from mpslint.verify.child.optimizers import Optimizers
from mpslint.verify.child.precision import Precision, note_precision
from mpslint.verify.child.refusals import refusal
from mpslint.verify.child.sandbox import AskedUser, note_processes
from mpslint.verify.child.source import ANSWERS, check_workers, execute, pieces, siblings, texts_of
from mpslint.verify.child.standin import StandIn, lstm_in_one, pickle_without_values
from mpslint.verify.child.torch_patches import (
    Shortened,
    count_steps,
    no_compile,
    no_saving,
    note_checkpoints,
    overwrite_where_swap_fails,
    pretend_mps,
    say_it_is_a_mac,
    serve_mps,
    short_loaders,
)
from mpslint.verify.emulator.allocator import LateAllocator, OutOfMemoryError
from mpslint.verify.emulator.autocast import Casts
from mpslint.verify.emulator.intercept import Interceptor, in_the_words_of_mps, is_raised_on_mps
from mpslint.verify.emulator.keys import GraphCache, graph_cache
from mpslint.verify.emulator.memory import LiveMemory
from mpslint.verify.emulator.meter import Meter
from mpslint.verify.emulator.operators import Coverage
from mpslint.verify.emulator.watch import Watch
from mpslint.verify.job import STANDING, Job, Lack, LackError
from mpslint.verify.outcome import Kept, RunResult, StepRecord
from mpslint.verify.platform import is_at_least, limits_of, versions

SHARE_OF_TIME, SECONDS_ON_CPU = 0.6, 60.0
EXIT = os._exit
FEWEST_MARKS = 2
"""Marks of an evaluation without which nothing is said to be kept of its batches."""


class Stage:
    """Everything that stands around the user's code while it runs."""

    def __init__(
        self, job: Job, progress: Callable[[int, int, StepRecord], None], seconds: float, leave: Callable[[RunResult], None]
    ) -> None:
        assert job.script is not None
        self.job, self.script = job, job.script
        self.code = pieces(Path(self.script.file), self.script.shown)
        self.root = Path(self.script.root or Path(self.script.file).parent)
        self.lines = {piece.file: piece.shown for piece in self.code} | siblings(Path(self.script.file), self.root)
        self.coverage = Coverage(job.machine.torch, self.lines)
        self.coverage.is_fallback_on = os.environ.get("PYTORCH_ENABLE_MPS_FALLBACK") == "1"
        self.shortened = Shortened()
        self.is_emulated = self.script.device == "emulated"
        self.recommended = limits_of(job.machine).recommended
        self.allocator = LateAllocator(job.machine)
        self.memory = LiveMemory(births=[] if job.memory_sizes else None, allocator=self.allocator)
        self.keys = self.counted = graph_cache(job.machine.torch, self.allocator.retain)
        allowed = seconds * SHARE_OF_TIME if self.is_emulated else min(seconds * SHARE_OF_TIME, SECONDS_ON_CPU)
        values = self.script.values if self.script.device == "cpu" else math.inf
        self.clock = Clock(self.script.steps, time.monotonic() + allowed, progress, values, user_line=self.coverage.user_line)
        self.precision, self.casts = Precision(), Casts()
        self.clock.meter = Meter(0.0, falls_back=self.coverage.falls_back) if self.is_emulated else None
        self.peaks: Peaks | None = None
        self.mode: Any = None
        self.recomputable = 0
        """How deep the code is in functions whose forward is computed again in the backward pass."""
        self.failure = self.failure_line = self.stopped = self.loss_line = ""
        self.is_raised_on_mps = False
        self.out_of_memory = 0
        self.started = time.perf_counter()
        self.leave_with = leave
        self.clock.leave, self.clock.look, self.clock.look_at_batches = self.leave, self.look, self.look_at_batches
        self.memory.line_of = self.coverage.user_line
        self.kept: tuple[Kept, ...] = ()
        self.kept_of_batches: tuple[Kept, ...] = ()
        self.optimizers, self.resets = Optimizers(self.coverage.user_line), Resets(self.coverage.user_line)
        self.origins = self.clock.origins = Origins(self.coverage.user_line)

    def prepare(self) -> None:
        """Change torch and the libraries that the code may import."""
        if self.is_emulated:
            self.clock.memory, self.clock.keys, self.clock.allocator = self.memory, self.keys, self.allocator
            if self.script.plays and self.script.steps > FEWEST + AFTER:
                first = 1 + STANDING if self.script.aim == "work" else FIRST
                bounds = self.script.steps, self.script.horizon, first
                conductor = Conductor(self.clock.feed, self.memory, self.keys, self.allocator, *bounds)
                conductor.sizes = SIZES if self.job.memory_sizes else ()
                conductor.empty_cache, conductor.count_into = self.give_back, self.count_into
                self.clock.conductor = conductor
            if self.script.aim != "run":  # what a run needs, and its work, are asked of Macs that it doesn't fit, too
                self.allocator.limit(0.0)
            asked = (lambda: self.allocator.live), (lambda: self.allocator.driver)
            pretend_mps(*asked, self.recommended, self.allocator.limit, self.empty_cache)
            torch.__future__.set_swap_module_params_on_conversion(True)
            overwrite_where_swap_fails()
            torch.distributions.Distribution.set_default_validate_args(False)  # arguments have no values
            pickle_without_values()
        elif self.script.device == "cpu":
            pretend_mps(lambda: 0, lambda: 0, self.recommended, lambda fraction: None, lambda: None)
        if self.script.device != "real":
            say_it_is_a_mac(self.lines)
        if self.script.device == "real":
            self.clock.gauge = mps_gauge() if self.job.backend == "mps" else cuda_gauge()
        else:
            serve_mps("meta" if self.is_emulated else "cpu")
        self.precision = note_precision(self.job.machine, self.coverage.report, self.script.device, self.casts, self.coverage.user_line)
        note_checkpoints(self.served)
        self.process = os.getpid()
        os._exit = self.exit_now  # type: ignore[assignment]
        self.started_processes = note_processes(self.coverage.user_line)
        no_compile(self.shortened)
        no_saving(self.shortened)
        count_steps(self.clock)
        check = functools.partial(check_workers, main=self.code[0], report=self.coverage.report)
        short_loaders(self.clock, self.shortened, self.script.evaluation_batches, check)
        code = [*(piece.text for piece in self.code), *texts_of(self.lines)]
        changes = library_changes(self.clock, self.shortened, self.script, self.coverage.report, code)
        AfterImport(changes, self.root).install()
        sys.meta_path.append(Metrics())

    def empty_cache(self) -> None:
        """Do what torch.mps.empty_cache() does on the machine; where that isn't told, write it down."""
        if self.memory.log is not None:
            self.memory.log.emptied()
        if self.clock.conductor is not None and self.clock.conductor.is_recording:
            return
        self.give_back()

    def give_back(self) -> None:
        """Give cached buffers back, and the graphs that the machine's torch gives back with them."""
        self.allocator.empty_cache()
        if is_at_least(self.job.machine.torch, platform_data("graph_cache")["cleared_by_empty_cache"]):
            self.keys.forget_graphs()
            self.allocator.release_graphs()

    def count_into(self, keys: GraphCache) -> None:
        """Have calls counted by another graph cache from now on."""
        self.counted = self.watch.keys = keys

    def seen(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], made: list[torch.Tensor]) -> None:
        """Look at one operator of the emulated device."""
        self.coverage.see(name, args, kwargs, made)
        if self.recomputable and name.partition(".")[0] in ("native_dropout", "bernoulli_", "rand_like", "randn_like"):
            said = "randomness inside a checkpointed function: on MPS the recomputed forward draws other numbers"
            self.coverage.report("checkpoint-dropout", "error", f"{said}, so the gradients are silently wrong")

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Switch on what stands in for the device."""
        with contextlib.ExitStack() as stack:
            if self.script.device == "real":
                yield
                return
            if self.is_emulated:
                stack.enter_context(sdpa_kernel(SDPBackend.MATH))
                interceptor = Interceptor(self.clock.asked)
                watch = Watch(self.memory, self.counted, self.seen, before=interceptor.before)
                self.watch, watch.meter = watch, self.clock.meter
                mode = StandIn("meta", lstm_in_one(self.coverage))
                mode.hosted, mode.casts = interceptor.hosted, self.casts
                self.clock.host = lambda: interceptor.host
                stack.enter_context(watch)
            else:
                mode = StandIn("cpu", on_backward=self.note_loss)
                mode.made = self.origins.see
            self.mode = stack.enter_context(mode)
            yield

    @contextlib.contextmanager
    def served(self) -> Iterator[None]:
        """Serve the device where torch has switched that off: in functions that a backward pass computes again."""
        is_on = self.mode is None or self.mode in _get_current_function_mode_stack()
        self.recomputable += 1
        try:
            with contextlib.nullcontext() if is_on else self.mode:
                yield
        finally:
            self.recomputable -= 1

    def note_loss(self, loss: Any) -> None:
        """Keep the value of what backward() is called on."""
        if isinstance(loss, torch.Tensor) and loss.numel() == 1:
            value = float(loss.detach())
            if not self.origins.is_tracing:  # then gradients are set to 0, and the losses aren't those of the code
                self.clock.losses.append(value)
            if not self.loss_line and not math.isfinite(value):
                self.loss_line = self.coverage.user_line()
            self.origins.of_loss(loss)

    def run(self) -> None:
        """Run the user's code to its end, to its bounds, or to its exception."""
        module = ModuleType("__main__")
        module.__file__ = self.script.file
        sys.modules["__main__"] = module
        sys.argv = [self.script.file, *self.script.arguments]
        module.__package__ = self.script.package or None
        sys.path[:0] = [str(Path(self.script.file).parent), *self.script.imports]
        for piece in self.code:
            linecache.cache[piece.file] = (len(piece.text), None, piece.text.splitlines(keepends=True), piece.file)
        module.__dict__.update(ANSWERS if self.code and self.code[0].is_cell else {})
        try:
            for piece in self.code:
                code = piece.compiled()
                with self.running():
                    execute(code, module.__dict__)
        except StopRun:
            pass
        except AskedUser as error:
            raise ReadError(f"{error.why} ({self.line_of(error)}): give it as an argument after --, or guard it") from None
        except SystemExit as error:
            self.ended("sys.exit", error.code, self.line_of(error))
        except MemoryError as error:
            self.stop("when this machine ran out of memory", self.line_of(error))
        except MpslintError:
            raise
        except BaseException as error:  # the user's code may raise anything at all
            self.failed(error)

    def ended(self, by: str, code: object, line: str) -> None:
        """Explain an exit of the user's own. Raises ReadError where no step was taken before it."""
        if self.clock.done:
            if code not in (None, 0):
                self.stop(f"by {by}({code!r})", line)
            return
        given = repr(code) if code is not None else ""
        said = f"{by}({given}) at {line or self.script.shown} ends the code before the first training step"
        if code in (None, 0):
            raise ReadError(said)
        raise LackError(f"{said}; if it needs arguments, give them after --", Lack("arguments"))

    def stop(self, why: str, line: str) -> None:
        """Note what ended the run before it had shown enough, and where."""
        self.stopped, self.failure_line = why, line

    def look(self) -> None:
        """Find what is kept from step to step, and what steps of other sizes need."""
        conductor = self.clock.conductor
        if conductor is not None and conductor.sized and self.peaks is None:
            with torch._C.DisableTorchFunction(), contextlib.suppress(ReadError):
                self.peaks = Peaks(conductor, self.memory, self.clock)
        if self.is_emulated and not self.kept:
            with torch._C.DisableTorchFunction():
                self.kept = kept_by_line(self.memory, self.clock.births, self.lines)

    def look_at_batches(self) -> None:
        """Find what an evaluation keeps of its batches."""
        marks = self.clock.batches
        if self.is_emulated and len(marks) > FEWEST_MARKS and not self.kept_of_batches:
            with torch._C.DisableTorchFunction():
                self.kept_of_batches = kept_by_batches(self.memory, range(marks[0].count, marks[-1].count), self.lines, len(marks) - 1)

    def leave(self, why: str = "", line: str = "") -> None:
        """End the process at once, with what was seen, and what ended the run before it had shown enough."""
        if why:
            self.stop(why, line)
        self.leave_with(self.result(time.perf_counter() - self.started))

    def exit_now(self, code: int = 0) -> None:
        """Stand for os._exit() in the user's own process."""
        if os.getpid() != self.process:
            EXIT(code)
        self.leave(f"by os._exit({code!r})" if code or not self.clock.done else "", self.coverage.user_line())

    def failed(self, error: BaseException) -> None:
        """Keep what ended the user's code, and the line of theirs where it happened."""
        if self.clock.conductor is not None and self.clock.conductor.is_sizing:
            raise LackError("the code takes batches of its own size only", Lack("rows")) from None
        guessed = "" if is_raised_on_mps(error) else self.shortened.guessed
        refused = refusal(error, self.line_of(error), self.script.sandbox, guessed, has_trained=bool(self.clock.done))
        if refused is not None:
            raise refused from None
        message = in_the_words_of_mps(str(error).strip().splitlines()[0][:400]) if str(error).strip() else ""
        if isinstance(error, OutOfMemoryError):
            self.out_of_memory = self.clock.done + 1
            with torch._C.DisableTorchFunction():
                self.kept = kept_at_the_end(self.memory, self.clock.births, self.lines, error)
        kind = "RuntimeError" if isinstance(error, OutOfMemoryError) else type(error).__name__
        self.failure = f"{kind}: {message}".removesuffix(": ")
        self.is_raised_on_mps = is_raised_on_mps(error)
        self.failure_line = self.line_of(error)

    def line_of(self, error: BaseException) -> str:
        """Return `file:line` of the innermost place of the user's code that an exception went through."""
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if frame.filename in self.lines:
                return f"{self.lines[frame.filename]}:{frame.lineno}"
        return ""

    def settle(self) -> None:
        """Play what was only recorded, where the code ended before the rest was played; take over the end of memory that playing met."""
        conductor = self.clock.conductor
        if conductor is None:
            return
        if conductor.is_recording:
            with torch._C.DisableTorchFunction():
                conductor.play(self.clock.records, only_recorded=True)
        if conductor.error is not None:
            self.out_of_memory = self.clock.done + 1
            self.failure, self.failure_line = f"RuntimeError: {conductor.error}", conductor.error_line
            self.is_raised_on_mps = True

    def result(self, seconds: float) -> RunResult:
        """Return all that the run showed."""
        self.clock.finish()
        self.clock.end_evaluation()
        self.look()
        self.settle()
        if self.precision.half == "fp16" and not self.precision.is_scaled and self.clock.done:
            said = "float16 autocast without an enabled GradScaler: small gradients become 0 and the model stops learning"
            self.coverage.report("unscaled-fp16", "error", said, self.precision.line)
        if self.clock.endless:
            line = self.clock.endless
            self.coverage.report("endless", "error", f"the loop at {line} ends only by a value of the device: generation without a bound")
        uncertain = [f"{name} depends on values" for name in self.watch.data_dependent] if self.is_emulated else []
        result = RunResult(
            name=self.script.shown,
            backend={"emulated": "emulated", "cpu": "cpu", "real": self.job.backend}[self.script.device],
            steps=tuple(self.clock.records),
            largest_peak=self.largest_peak if self.is_emulated else -1,
            driver_peak=self.allocator.peak if self.is_emulated else -1,
            all_keys=len(self.keys.all_keys),
            graph_keys=len(self.keys.graph_keys),
            retained=self.keys.by_operator(self.keys.graph_keys),
            shapes=len({record.shapes for record in self.clock.records if record.what == "train" and record.shapes}),
            troubles=tuple(self.coverage.troubles.values()),
            kept=self.kept,
            kept_of_batches=self.kept_of_batches,
            changes=tuple(self.shortened.changes),
            notes=tuple(self.notes()),
            uncertain=tuple(uncertain),
            failure=self.failure,
            failure_line=self.failure_line,
            is_raised_on_mps=self.is_raised_on_mps,
            out_of_memory=self.out_of_memory,
            stopped=self.stopped,
            ran=self.clock.taken,
            versions=versions(),
            seconds=seconds,
            moved=self.clock.moved,
            wrong=self.clock.wrong,
            origin=self.origins.found.said,
            loss_line=self.origins.found.line or self.loss_line,
            untaken=self.optimizers.untaken[0],
            carried_at=self.resets.line,
            optimizer_line=self.optimizers.untaken[1] or self.optimizers.line_of(self.clock.optimizer, self.clock.last_rate),
            learning_rate=self.clock.learning_rate,
            rested=self.clock.rested,
            weights_dtype=self.clock.weights_dtype,
            settings_steps=self.clock.planned,
            has_assumed_lengths=self.shortened.has_assumed_lengths,
        )
        return answered(result, self.job, self.clock, self.peaks)

    @property
    def largest_peak(self) -> int:
        """The highest peak of all steps, and of what was done of the one that ran out of memory."""
        return max([record.peak for record in self.clock.records] + [self.memory.peak] * bool(self.out_of_memory), default=-1)

    def notes(self) -> Iterator[str]:
        """Yield what the reader should know about how the run was done."""
        yield from [f"the run was ended {self.clock.stopped}"] if self.clock.stopped else []
        is_asked = self.job.memory_sizes and self.peaks is None and not (self.failure or self.stopped)
        if self.is_emulated and (self.script.lacks_rows or is_asked):
            has_loader = self.clock.conductor is not None and self.clock.conductor.each
            open_one = "memory doesn't follow from the rows of a batch" if has_loader else "batches don't come from one DataLoader"
            why = self.script.lacks_rows or open_one
            yield f"which micro-batches fit isn't known: {why}"
        if self.started_processes:
            yield f"processes that the code starts itself ({self.started_processes[0]}) are not followed"
        yield from filter(None, [self.script.start])
        if self.casts.unsure:
            hidden = ", ".join(sorted(self.casts.unsure))
            yield f"{self.precision.half} autocast casts inside {hidden}, which isn't emulated: all of it has the dtype of its input"
