"""What a step of the longest samples needs at its peak, and the largest micro-batch that each Mac takes: worked out for any size from a few
that were recorded."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mpslint.core.finding import ReadError
from mpslint.estimate.step import StepWork
from mpslint.verify.child.clock import Clock
from mpslint.verify.child.conductor import Conductor
from mpslint.verify.emulator.breakdown import OPTIMIZER, WEIGHTS, Birth, classify
from mpslint.verify.emulator.family import Family
from mpslint.verify.emulator.log import BIRTH
from mpslint.verify.emulator.memory import Buffer, LiveMemory
from mpslint.verify.job import Job
from mpslint.verify.outcome import Composition, Fit, RunResult
from mpslint.verify.platform import limits_of
from mpslint.verify.spec import VerifiedMac

MOST = 4096
"""The largest micro-batch that is looked at."""


class Peaks:
    """The peaks of a step, by the size of its micro-batches."""

    def __init__(self, conductor: Conductor, memory: LiveMemory, began: int) -> None:
        """Take a run that was recorded; `began` buffers had been made by the end of its first step."""
        family = conductor.common()
        if family is None or not family.is_fitted or memory.births is None:
            raise ReadError("the peak of other batches doesn't follow from those that were recorded")
        self.family: Family = family
        first = next(one.passage.first for one in conductor.recorded if one.passage.program == family.program)
        self.own = conductor.feed.given[0][0][0]
        old = [buffer for number, buffer in memory.buffers.items() if number < began]
        self.weights = [buffer for buffer in old if memory.births[buffer.number][1] != OPTIMIZER]
        self.base = {WEIGHTS: _bytes(self.weights), OPTIMIZER: _bytes(old) - _bytes(self.weights)}
        births: Sequence[Birth] = memory.births[first : first + family.program.count(BIRTH)]
        self.categories = classify(births, frozenset(buffer.shape for buffer in self.weights))
        self.parts = [part for _, part, _ in births]

    def of(self, batch: int) -> Composition:
        """Return what the memory of a step is made of where it's highest."""
        family = self.family
        step = tuple(tuple((batch, *shape[1:]) for shape in key) for key in next(iter(family.recorded)))
        sizes = family.at(step).tolist()[-len(self.categories) :]
        parts, place, live = Counter(self.base), 0, sum(self.base.values())
        best: tuple[int, Mapping[str, int], str] = (live, dict(parts), OPTIMIZER)
        for event in family.program:
            if event == BIRTH:
                live += sizes[place]
                parts[self.categories[place]] += sizes[place]
                if live > best[0]:
                    best = live, dict(parts), self.parts[place]
                place += 1
            elif isinstance(event, int) and event < 0:
                live -= sizes[-event - 1]
                parts[self.categories[-event - 1]] -= sizes[-event - 1]
        return Composition(best[0], best[2], {name: size for name, size in best[1].items() if size > 0})


def _bytes(buffers: Sequence[Buffer]) -> int:
    return sum(buffer.size for buffer in buffers)


def answered(result: RunResult, job: Job, clock: Clock, memory: LiveMemory) -> RunResult:
    """Return the result of a run with what else its job asks for. Raises ReadError where the run doesn't show it."""
    if job.script is None or job.script.aim == "run" or result.failure:
        return result
    if clock.meter is not None:
        first = next((record.new_graph_keys for record in result.steps), 0)
        meter = clock.meter
        work = StepWork(meter.operators(), 0, waits=meter.waits, graphs_first=first, fallbacks=meter.fallbacks())
        return replace(result, work=work)
    if clock.conductor is None or not clock.conductor.recorded:
        raise ReadError("too few steps ran to tell what they need")
    peaks = Peaks(clock.conductor, memory, clock.births[0])
    own = peaks.of(peaks.own)
    fits = tuple(_fit(job.machine, size, own.peak, peaks) for size in job.memory_sizes)
    return replace(result, composition=own, parameters=sum(math.prod(one.shape) for one in peaks.weights), fits=fits)


def _fit(machine: VerifiedMac, size: int, own: int, peaks: Peaks) -> Fit:
    """Return how a Mac takes the run, and the largest micro-batch that fits it as verify judges: to what Metal recommends."""
    bounds = limits_of(machine, size)
    room = bounds.recommended
    low, high = 0, 1
    while high <= MOST and peaks.of(high).peak <= room:
        low, high = high, high * 2
    high = min(high, MOST + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if peaks.of(middle).peak <= room:
            low = middle
        else:
            high = middle
    status = "fits" if own <= room - bounds.reserve else "tight" if own <= room else "too big"
    return Fit(size, bounds.recommended, own, status, low, "at least " if low == MOST else "")  # type: ignore[arg-type]
