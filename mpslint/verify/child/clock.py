"""Counts the steps of foreign code, writes down what each showed, and ends the run when it has shown enough."""

from __future__ import annotations

import math
import time
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import torch

from mpslint.verify.child.conductor import Conductor
from mpslint.verify.child.device import Gauge, resident
from mpslint.verify.child.feed import Feed, shapes_text
from mpslint.verify.child.nonfinite import Origins
from mpslint.verify.child.optimizers import name_of
from mpslint.verify.emulator.allocator import AllocatorModel
from mpslint.verify.emulator.keys import GraphCache
from mpslint.verify.emulator.memory import LiveMemory
from mpslint.verify.emulator.meter import Meter
from mpslint.verify.job import STANDING
from mpslint.verify.outcome import StepRecord, What, steps_in_words

MOST_TURNS = 1500
"""Values asked of the device at one line, without gradient and between two steps, past which a loop has no end of its own."""

MOST_OTHERS = 25
"""Steps of another optimizer, without one of the first, past which the run has gone on to it."""

VALUES_SHOW = 3
"""Steps in which a run shows whether its weights move, be the learning rate 0 in the first."""

LEAST_GROWN = 2**24
"""Bytes by which this process has to grow at each evaluation batch for them to be kept."""

SURELY_MORE, SURELY = 1.5, 0.9
"""Shares of what an evaluation keeps of its batches from which memory that comes on top is another copy of it."""


class StopRun(SystemExit):
    """Ends the user's code once enough was seen; no `except Exception` of theirs takes it."""


@dataclass(frozen=True, slots=True)
class BatchMark:
    """What an evaluation holds as a batch begins or the last one ends, what it came to since the mark before, in bytes, and how many
    buffers had been made."""

    live: int
    host: int
    peak: int
    resident: int
    count: int


@dataclass(slots=True)
class Clock:
    """The steps of a run: their records, and when to stop."""

    steps: int
    deadline: float
    progress: Callable[[int, int, StepRecord], None]
    values: float = math.inf
    """Seconds of the processor after which a run that isn't emulated ends, once its values show something."""
    memory: LiveMemory | None = None
    keys: GraphCache | None = None
    allocator: AllocatorModel | None = None
    meter: Meter | None = None
    """Counts the work of the steps after the first one."""
    gauge: Gauge | None = None
    """The memory of a real GPU, where the code runs on one."""
    records: list[StepRecord] = field(default_factory=list)
    feed: Feed = field(default_factory=Feed)
    conductor: Conductor | None = None
    """Has most steps of an emulated run played instead of run."""
    taken: int = 0
    """How many optimizer steps ran."""
    epoch: int = 0
    """How many steps had run when the pass over the data in hand began."""
    losses: list[float] = field(default_factory=list)
    norm: float | None = None
    wrong: str = ""
    """The first weight whose gradient isn't finite."""
    origins: Origins | None = None
    """Finds where values stop being finite."""
    stopped: str = ""
    leave: Callable[[], None] = lambda: None
    """Ends the process with what was seen, for code that goes on although it was told to stop."""
    host: Callable[[], int] = lambda: 0
    turns: Counter[str] = field(default_factory=Counter)
    user_line: Callable[[], str] = lambda: ""
    endless: str = ""
    watched: list[tuple[torch.Tensor, torch.Tensor]] = field(default_factory=list)
    moved: bool | None = None
    learning_rate: float = -1.0
    """The highest with which a step was taken; -1 where it isn't known."""
    last_rate: float = -1.0
    """That of the last step."""
    rested: int = 0
    """How many of the last steps were taken with a rate of 0, after others with a higher one."""
    planned: int = 0
    is_evaluating: bool = False
    cuts_epochs: bool = True
    """Whether an epoch is cut so that an evaluation is reached; frameworks that evaluate by steps need none of it."""
    batches: list[BatchMark] = field(default_factory=list)
    ended: int | None = None
    """How many batches the evaluation would have that ended last and isn't written down."""
    is_within: bool = False
    """Whether nothing has told of its end: Lightning leaves a loader that it takes no more batches of."""
    whole: int = 0
    """How many batches the evaluation in hand would have, had it not been cut."""
    before_step_1: int = 0
    """How many buffers had been made when the first step began: none of the optimizer's."""
    births: list[int] = field(default_factory=list)
    """How many buffers had been made by the end of each step."""
    look: Callable[[], None] = lambda: None
    """Looks at what is alive, once enough was seen and while the user's frames still are."""
    look_at_batches: Callable[[], None] = lambda: None
    """Looks at what an evaluation keeps of its batches, while the frames of its loop are there."""
    _first: weakref.ref[torch.optim.Optimizer] | None = None
    _others: Counter[int] = field(default_factory=Counter)
    """Steps of each other optimizer since the last one that counted."""
    _seen: tuple[int, int] = (0, 0)
    _told: int = 0
    """How many batches the records so far have told of."""
    _started: float = field(default_factory=time.perf_counter)

    @property
    def done(self) -> int:
        """How many optimizer steps were taken, or played."""
        return sum(record.what == "train" for record in self.records)

    @property
    def optimizer(self) -> torch.optim.Optimizer | None:
        """The optimizer whose steps are those of the run; None where there is none any more."""
        return self._first() if self._first is not None else None

    @property
    def weights_dtype(self) -> str:
        """The dtype of the weights that are trained; '' where none is known."""
        optimizer = self.optimizer
        weights = [weight for group in optimizer.param_groups for weight in group["params"]] if optimizer is not None else []
        return str(weights[0].dtype).removeprefix("torch.") if weights else ""

    @property
    def most(self) -> int:
        """How many optimizer steps run at most."""
        return self.steps if self.conductor is None else self.conductor.most

    def before_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Take note of the gradients before an optimizer steps; end the run when it has taken enough of them."""
        if not self._counts(optimizer):
            return
        self.stop_when_enough()
        rate = max((float(group.get("lr", -1)) for group in optimizer.param_groups), default=-1.0)
        self.rested = self.rested + 1 if rate == 0 < self.learning_rate else 0
        self.learning_rate, self.last_rate = max(self.learning_rate, rate), rate
        if self.memory is not None and not self.taken:
            self.before_step_1 = self.memory.count
        if self.memory is None:
            self.norm = gradient_norm(optimizer)
            if not math.isfinite(self.norm or 0.0):
                weights = [weight for group in optimizer.param_groups for weight in group["params"] if weight.grad is not None]
                self.wrong = self.wrong or next((name_of(weight) for weight in weights if not torch.isfinite(weight.grad).all()), "")
                if self.origins is not None and all(map(math.isfinite, self.losses)):  # the next step shows where: the weights stay good
                    self.origins.is_tracing = True
                    torch._foreach_zero_([weight.grad for weight in weights])

    def stop_when_enough(self) -> None:
        """End the user's code if it has taken enough steps."""
        if self.taken >= self.most:
            self.stop(f"after {steps_in_words(self.taken)}")

    def _counts(self, optimizer: torch.optim.Optimizer) -> bool:
        """Return whether an optimizer's steps are those of the run: the first one's, and the next one's when that is deleted or rests.

        A GAN has two that take turns; a run in two phases makes a new one for the second.
        """
        first = self.optimizer
        if optimizer is first:
            self._others.clear()
            return True
        self._others[id(optimizer)] += 1
        if first is not None and self._others[id(optimizer)] <= MOST_OTHERS:
            return False
        if self._first is None:
            self.watch_weights(optimizer)
        self._first = weakref.ref(optimizer)
        self._others.clear()
        return True

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Write down a step."""
        if optimizer is not self.optimizer:
            return
        record = self.record("train")
        self.records.append(record)
        self.taken += 1
        if self.memory is not None:
            self.births.append(self.memory.count)
        if self.meter is not None:
            counted = self.conductor.first - 1 if self.conductor is not None else STANDING
            self.meter.weight = 1 / counted if self.taken <= counted else 0.0
        is_late = time.monotonic() > self.deadline
        is_late |= self.memory is None and self.taken >= VALUES_SHOW and time.process_time() > self.values
        if self.conductor is not None and (self.conductor.stepped(self.taken, record) or (is_late and self.conductor.is_recording)):
            self.play()
        self.progress(self.done, max(self.steps, self.done), record)
        self.losses.clear()
        self.turns.clear()
        if is_late:
            self.stop(f"after {steps_in_words(self.taken)}, for lack of time")
        is_cut = self.taken - self.epoch >= max(4, -(-self.steps // 2)) if self.conductor is None else self.taken in self.conductor.turns
        if self.cuts_epochs and is_cut:
            self.feed.is_open = False

    def play(self) -> None:
        """Play the steps that follow from those that ran; end the user's code where memory runs out in them."""
        assert self.conductor is not None
        self.look()
        self.conductor.play(self.records)
        self._seen = len(self.conductor.keys.all_keys), self.conductor.keys.compiled
        if self.conductor.error is not None:
            raise StopRun(0)

    def record(self, what: What) -> StepRecord:
        """Return what was seen since the last record."""
        now = time.perf_counter()
        seconds, self._started = now - self._started, now
        shapes = shapes_text(self.feed.given[self._told :])
        self._told = len(self.feed.given)
        number = self.done + (what == "train")
        if self.memory is None:
            loss = sum(self.losses) if self.losses else None
            seen = StepRecord(number, what, *self.gauge_now(), resident=resident(), loss=loss, gradient_norm=self.norm)
            return replace(seen, seconds=seconds, shapes=shapes)
        assert self.keys is not None
        everything, graphs = len(self.keys.all_keys), self.keys.compiled
        new, self._seen = (everything - self._seen[0], graphs - self._seen[1]), (everything, graphs)
        peak, self.memory.peak = self.memory.peak, self.memory.live
        driver, blocks = (self.allocator.driver, self.allocator.live) if self.allocator is not None else (-1, -1)
        return StepRecord(number, what, self.memory.live, peak, driver, self.host(), -1, *new, seconds, shapes=shapes, blocks=blocks)

    def gauge_now(self) -> tuple[int, int, int]:
        """Return live, peak and driver bytes of the real GPU, -1 where the code runs on none."""
        if self.gauge is None:
            return -1, -1, -1
        self.gauge.synchronize()
        told = self.gauge.live(), self.gauge.peak(), self.gauge.driver()
        self.gauge.reset_peak()
        return told

    def evaluation_batch(self) -> None:
        """Note what is alive as an evaluation batch begins."""
        if self.memory is not None:
            self.batches.append(BatchMark(self.memory.live, self.host(), self.memory.peak, resident(), self.memory.count))
            self.memory.peak = self.memory.live

    def evaluated(self, batches: int) -> None:
        """Write down an evaluation that just ended; what it keeps of each batch is carried on to all `batches` that it would have."""
        marks, self.batches, self.ended = self.batches, [], None
        tail = self.memory.peak if self.memory is not None else 0
        if self.memory is not None:
            self.memory.peak = max([tail, *(mark.peak for mark in marks)])
        record, left, more = self.record("evaluate"), max(batches + 1 - len(marks), 0), 0
        steady = marks[2:] if len(marks) > 3 else marks[1:]  # what the first batch finds is still there in the second
        if len(steady) > 1:
            more = max(0, whole_peak(steady, tail, left) - record.peak)
            host = max(0, steady[-1].host - steady[0].host) // (len(steady) - 1)
            grown = min(after.resident - before.resident for before, after in pairwise(steady))
            host = max(host, grown) if grown > LEAST_GROWN else host  # arrays of NumPy, which no tensor tells of
            record = replace(record, peak=record.peak + more, host=record.host + host * left)
        self.records.append(record)
        if self.conductor is not None:
            self.conductor.evaluated(self.taken, record, more)

    def end_evaluation(self) -> None:
        """Write down the evaluation of the code's own loop that ended last, with what was made of its batches since; if there is one."""
        if self.is_within:
            self.is_within = False
            self.evaluation_batch()
        if self.ended is not None:
            self.evaluated(self.ended)

    def asked(self) -> None:
        """Count a value asked of the device without gradient: a loop that asks for ever is ended."""
        if torch.is_grad_enabled():
            return
        line = self.user_line()
        self.turns[line] += 1
        if self.turns[line] > MOST_TURNS and line:
            self.endless = line
            self.stop("in a loop that ends only by a value of the device")

    def stop(self, why: str) -> None:
        """End the user's code; the second time without asking it."""
        if self.stopped:
            self.leave()
        self.stopped = why
        self.look()
        raise StopRun(0)

    def watch_weights(self, optimizer: torch.optim.Optimizer) -> None:
        """Keep copies of the trained weights, to see later whether they moved."""
        if self.memory is not None:
            return
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        self.watched = [(parameter, parameter.detach().clone()) for parameter in parameters if parameter.numel() < 2**22][:64]

    def finish(self) -> None:
        """Compare the trained weights with how they were before the first step."""
        if self.watched:
            self.moved = any(not torch.equal(parameter.detach(), before) for parameter, before in self.watched)


def whole_peak(marks: Sequence[BatchMark], tail: int, left: int) -> int:
    """Return the peak of an evaluation with `left` more batches, in bytes: from the ends of those that ran, and the peak `tail` after them.

    What is kept of each batch is there twice while `torch.cat` joins it: at each batch, or once at the end.
    """
    each = max(0, marks[-1].live - marks[0].live) // (len(marks) - 1)
    rises = [after.peak - before.peak for before, after in pairwise(marks)]
    in_loop = 1 + (min(rises) >= SURELY_MORE * each)
    at_end = 1 + (tail - marks[-1].live >= SURELY * each * len(marks))
    return max(marks[-1].peak + in_loop * each * left, tail + at_end * each * left)


def gradient_norm(optimizer: torch.optim.Optimizer) -> float | None:
    """Return the norm of all gradients of an optimizer, None when it has none."""
    found = [parameter.grad for group in optimizer.param_groups for parameter in group["params"] if parameter.grad is not None]
    return float(torch.nn.utils.get_total_norm([gradient.detach().float() for gradient in found])) if found else None
