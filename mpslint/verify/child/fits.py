"""What a step of the longest samples needs at its peak, and the largest micro-batch that each Mac takes: worked out for any size from a few
that were recorded."""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mpslint.core.finding import ReadError
from mpslint.estimate.step import StepWork
from mpslint.verify.child.clock import Clock
from mpslint.verify.child.conductor import Conductor
from mpslint.verify.emulator.family import Family
from mpslint.verify.emulator.log import BIRTH
from mpslint.verify.emulator.memory import BACKWARD, OPTIMIZER, WEIGHTS, Birth, Buffer, LiveMemory, classify
from mpslint.verify.job import Job
from mpslint.verify.outcome import Composition, Fit, RunResult
from mpslint.verify.platform import limits_of
from mpslint.verify.spec import VerifiedMac

MOST = 65536
"""The largest micro-batch that is looked at."""


class Peaks:
    """The peaks of a step, by the size of its micro-batches."""

    def __init__(self, conductor: Conductor, memory: LiveMemory, clock: Clock) -> None:
        """Take a run that was recorded. Raises ReadError where its steps of other sizes don't follow from each other."""
        counted = Counter(one.passage.program for one in conductor.sized).most_common(1)
        alike = [one for one in conductor.sized if one.passage.program == counted[0][0]] if counted else []
        family = Family([(one.step, one.passage) for one in alike]) if alike else None
        if family is None or not family.is_fitted or memory.births is None:
            raise ReadError("the peak of other batches doesn't follow from those that were recorded")
        self.family, passage, self.own = family, alike[0].passage, conductor.feed.rows
        old = [buffer for number, buffer in memory.buffers.items() if number < clock.births[0]]
        self.weights = [one for one in old if one.number < clock.before_step_1 and memory.births[one.number][1] != BACKWARD]
        self.base = {WEIGHTS: _bytes(self.weights), OPTIMIZER: _bytes(old) - _bytes(self.weights)}
        births: Sequence[Birth] = memory.births[passage.first : passage.first + family.program.count(BIRTH)]
        self.categories = classify(births, frozenset(buffer.shape for buffer in self.weights))
        self.parts = [part for _, part, _ in births]
        self.survivors = passage.survivors

    def of(self, batch: int) -> Composition:
        """Return what the memory of a step is made of where it's highest; what the step before it left alive is there as it begins."""
        one, other = list(self.family.recorded)[:2]
        step = tuple(
            tuple(tuple(batch if size != rows else size for size, rows in zip(*shapes, strict=True)) for shapes in zip(*keys, strict=True))
            for keys in zip(one, other, strict=True)
        )
        sizes = self.family.at(step).tolist()[-len(self.categories) :]
        parts, place = Counter(self.base), 0
        for left in self.survivors:
            parts[self.categories[left]] += sizes[left]
        live = sum(parts.values())
        best: tuple[int, Mapping[str, int], str] = (live, dict(parts), OPTIMIZER)
        for event in self.family.program:
            if event == BIRTH:
                live += sizes[place]
                parts[self.categories[place]] += sizes[place]
                if live > best[0]:
                    best = live, dict(parts), self.parts[place]
                place += 1
                continue
            dies = -event - 1 if isinstance(event, int) and event < 0 else -1
            if isinstance(event, tuple) and event[:2] == ("train", 1):
                dies = self.survivors[event[2]]
            if dies >= 0:
                live -= sizes[dies]
                parts[self.categories[dies]] -= sizes[dies]
        return Composition(best[0], best[2], {name: size for name, size in best[1].items() if size > 0})


def _bytes(buffers: Sequence[Buffer]) -> int:
    return sum(buffer.size for buffer in buffers)


def answered(result: RunResult, job: Job, clock: Clock, peaks: Peaks | None) -> RunResult:
    """Return the result of a run with which Macs take it and the work of a step, as far as it shows them. Raises ReadError where it was
    run for that and doesn't."""
    assert job.script is not None
    meter = clock.meter
    if meter is not None and meter.entries:
        samples = clock.feed.rows * (clock.conductor.each if clock.conductor is not None else 0)
        first = result.steps[0].new_graph_keys
        work = StepWork(meter.operators(), samples, waits=meter.waits, graphs_first=first, fallbacks=meter.fallbacks())
        result = replace(result, work=work)
    if peaks is None:
        if job.script.aim == "fit" and not result.failure:
            raise ReadError("the peak of other batches doesn't follow from those that were recorded")
        return result
    own = peaks.of(peaks.own)
    fits = tuple(_fit(job.machine, size, own.peak, peaks) for size in job.memory_sizes)
    parameters = sum(math.prod(one.shape) for one in peaks.weights)
    return replace(result, composition=own, parameters=parameters, batch=peaks.own, fits=fits)


def _fit(machine: VerifiedMac, size: int, own: int, peaks: Peaks) -> Fit:
    """Return how a Mac takes the run, and the largest micro-batch that fits it as verify judges: to what Metal recommends."""
    bounds = limits_of(machine, size)
    room = bounds.recommended
    low = bisect.bisect_right(range(1, MOST + 1), room, key=lambda batch: peaks.of(batch).peak)
    status = "fits" if own <= room - bounds.reserve else "tight" if own <= room else "too big"
    return Fit(size, bounds.recommended, own, status, low, "at least " if low == MOST else "")  # type: ignore[arg-type]
