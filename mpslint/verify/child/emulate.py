"""One run of a spec on the emulator: memory and graph keys over hundreds of steps, at full size,
without computing anything."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from mpslint.core.knowledge import platform_data
from mpslint.verify.child.batches import Shape, epoch, shape_of, train_shapes, worst_shape
from mpslint.verify.child.evaluate import play_evaluation, record_forward, record_token
from mpslint.verify.child.installed import versions
from mpslint.verify.child.lengths import with_own_lengths
from mpslint.verify.child.models import dropout_of, weights_dtype
from mpslint.verify.child.rig import NothingTrainedError, Rig
from mpslint.verify.emulator.allocator import AllocatorModel, OutOfMemoryError
from mpslint.verify.emulator.keys import Call
from mpslint.verify.emulator.replay import Replay, base
from mpslint.verify.emulator.segment import Segment, SegmentFamily
from mpslint.verify.outcome import Composition, RunResult, StepRecord, What
from mpslint.verify.platform import is_at_least, precision_outcome, rules_on
from mpslint.verify.spec import Evaluation, RunSpec, VerifiedMac

Progress = Callable[[int, int, StepRecord], None]
MOST_EVALUATION_BATCHES = 400
MOST_PLANNED_SHAPES = 4000
MOST_STEPS = 3000
GENERATES_EVERY = 100
"""A run that generates before it trains does so in its first step here, then in each one so many later."""
SECONDS_MORE = 40.0
"""How many steps, and for how much processor time (alike on a busy machine), a run is played on when its graphs may fill the memory
before its end."""


@dataclass(slots=True)
class GraphKeys:
    """The keys seen so far, and how many of a step's are new;
    empty_cache() forgets the compiled graphs of late torch."""

    everything: set[Call] = field(default_factory=set)
    graphs: set[Call] = field(default_factory=set)
    ever: int = 0

    def add(self, found: tuple[set[Call], set[Call]]) -> tuple[int, set[Call]]:
        """Count the keys of a segment; return how many are new, and the new graphs."""
        new, graphs = len(found[0] - self.everything), found[1] - self.graphs
        self.everything |= found[0]
        self.graphs |= graphs
        self.ever += len(graphs)
        return new, graphs


@dataclass(frozen=True, slots=True)
class PlannedGraphs:
    """The compiled graphs by the end of the run that the user means to do, and the bytes they keep."""

    graphs: int
    retained: int


class EmulatedRun:
    """The segments of one spec, and what playing them one after the other gives."""

    def __init__(self, spec: RunSpec, machine: VerifiedMac) -> None:
        self.uncertain: list[str] = []
        self.remarks: list[str] = []
        spec, said = with_own_lengths(spec)
        if said:
            self.remarks.append(said)
        if spec.precision != "no" and precision_outcome(spec.precision_by, spec.precision, machine).does in (
            "raises",
            "ignored",
        ):
            self.remarks.append(f"emulated in float32: {spec.precision} is not in force on this machine")
            spec = replace(spec, precision="no")
        self.spec, self.machine = spec, machine
        self.rig = Rig(spec, machine)
        self.keys = GraphKeys()
        self.exhausted, self.failure = 0, ""
        self.model = AllocatorModel(rules_on(machine, spec.high_watermark))
        self.replay = Replay(self.model)

    def run(self, steps: int, progress: Progress) -> RunResult:
        """Return the result of `steps` optimizer steps, with evaluations where the spec has them."""
        start = time.perf_counter()
        spec, rig = self.spec, self.rig
        worst = worst_shape(spec)
        order = train_shapes(spec, max(steps, min(spec.steps, MOST_STEPS)))
        rig.micro_batch(order[0][0])
        rig.cut()
        rig.optimizer_step()
        initial = rig.cut()
        records: list[StepRecord] = []
        try:
            base(self.replay, rig.weight_bytes, initial)
            wanted = [shape for shapes in order[:steps] for shape in shapes] + [worst]
        except OutOfMemoryError:
            self.exhausted, self.failure = 1, "MPS backend out of memory: the weights and the optimizer's state do not fit"
            wanted = [worst]
        optimizer = rig.record_optimizer(worst if self.exhausted else order[0][0])
        first = SegmentFamily(rig.record_first, wanted)
        later = SegmentFamily(rig.record_next, wanted) if spec.accumulation > 1 else first
        largest = self._largest(worst, first, later, optimizer)
        planned = PlannedGraphs(len(self.keys.graphs), self.model.retained)
        if not self.exhausted:
            play = self._play(order[:steps], first, later, optimizer, steps, progress)
            self._until_exhausted(play, records)
            largest = self._largest(worst, first, later, optimizer)
            planned = self._planned(first, later, records)
        if self._may_run_out(planned, largest, first) and len(order) > steps:
            more = self._play(order, first, later, optimizer, len(order), progress, len(records))
            self._until_exhausted(more, records, time.process_time() + SECONDS_MORE)
        seconds = time.perf_counter() - start
        return self._result(records, largest, planned, first, seconds)

    def _result(
        self, records: Sequence[StepRecord], largest: Replay, planned: PlannedGraphs, first: SegmentFamily, seconds: float
    ) -> RunResult:
        """Return what the run showed."""
        spec, rig = self.spec, self.rig
        return RunResult(
            name=spec.name,
            backend="emulated",
            steps=tuple(records),
            composition=Composition(largest.highest, largest.highest_in, dict(largest.composition)),
            largest_peak=largest.highest,
            driver_peak=self.model.peak,
            parameters=sum(parameter.numel() for parameter in rig.model.parameters()),
            trained_parameters=sum(parameter.numel() for parameter in rig.trained),
            all_keys=len(self.keys.everything),
            graph_keys=len(self.keys.graphs),
            planned_graph_keys=planned.graphs,
            retained=rig.watch.keys.by_operator(self.keys.graphs),
            planned_retained=planned.retained,
            out_of_memory=self.exhausted,
            failure=f"RuntimeError: {self.failure}" if self.exhausted else "",
            is_raised_on_mps=bool(self.exhausted),
            shapes=len({record.shapes for record in records if record.what == "train"}),
            troubles=tuple(rig.coverage.troubles.values()),
            notes=tuple(self._notes(first)),
            uncertain=tuple(self.uncertain + [f"{name} depends on values" for name in rig.watch.data_dependent]),
            dropout=dropout_of(rig.config),
            weights_dtype=weights_dtype(spec),
            versions=versions(),
            settings_steps=spec.steps,
            has_own_lengths=bool(spec.source.observed),
            seconds=seconds,
        )

    def _until_exhausted(self, play: Iterator[StepRecord], records: list[StepRecord], deadline: float = math.inf) -> None:
        """Take records until there are no more, memory runs out or time does."""
        try:
            for record in play:
                records.append(record)
                if time.process_time() > deadline:
                    return
        except OutOfMemoryError as error:
            self.failure = str(error)
            self.exhausted = sum(record.what == "train" for record in records) + 1

    def _may_run_out(self, planned: PlannedGraphs, largest: Replay, first: SegmentFamily) -> bool:
        """Return whether what graphs keep by the end of the run may pass the limit together with the highest peak."""
        if self.exhausted or not self.model.rules.high_watermark or not first.is_fitted or planned.retained <= self.model.retained:
            return False
        return planned.retained + max(largest.highest, self.model.peak - self.model.retained) > self.model.rules.high_watermark

    def _play(
        self,
        order: list[list[Shape]],
        first: SegmentFamily,
        later: SegmentFamily,
        optimizer: Segment,
        steps: int,
        progress: Progress,
        done: int = 0,
    ) -> Iterator[StepRecord]:
        spec, replay = self.spec, self.replay
        evaluation = Evaluator(self) if spec.evaluation is not None else None
        optimizer_keys = optimizer.keys()
        for number, shapes in enumerate(order[done:], start=done + 1):
            if spec.generated and number % GENERATES_EVERY == 1:
                yield self.generate(number, (spec.generated, max(shape[1] for shape in shapes)), spec.target.limit if spec.target else 1)
            replay.start_peak()
            new = [0, 0]
            for place, shape in enumerate(shapes):
                family = later if place else first
                replay.play(family.at(shape), "forward and backward")
                self.see(family.keys_at(shape), new)
            replay.play(optimizer, "optimizer step")
            self.see(optimizer_keys, new)
            if spec.empty_cache_steps and number % spec.empty_cache_steps == 0:
                self._empty_cache()
            record = self.record(number, "train", new, shapes_text(shapes))
            progress(number, steps, record)
            yield record
            if evaluation is not None and evaluation.is_due(number, steps):
                yield from evaluation.run(number)

    def see(self, found: tuple[set[Call], set[Call]], new: list[int]) -> None:
        """Count the keys of a segment in `new`, and what the new graphs keep."""
        count, graphs = self.keys.add(found)
        new[0] += count
        new[1] += len(graphs)
        self.model.retain(self.rig.watch.keys.kept_by(graphs))

    def record(self, number: int, what: What, new: list[int], shapes: str, host: int = 0) -> StepRecord:
        """Return the record of what was just played."""
        return StepRecord(
            number,
            what,
            self.replay.live,
            self.replay.peak,
            driver=self.model.driver,
            host=host,
            new_keys=new[0],
            new_graph_keys=new[1],
            shapes=shapes,
            blocks=self.model.live,
        )

    def generate(self, number: int, shape: Shape, limit: int, beams: int = 1) -> StepRecord:
        """Return the record of generating for one batch of prompts, token by token up to the limit."""
        batch, prompt = shape[:2]
        shapes = [(batch, prompt, past) for past in range(1, max(2, limit))]
        family = SegmentFamily(lambda shape: record_token(self.rig, shape, beams), shapes)
        self.replay.start_peak()
        new = [0, 0]
        for shape in shapes:
            self.replay.play(family.at(shape), "generation")
            self.see(family.keys_at(shape), new)
        for label in [label for label in self.replay.held if label.startswith("cache")]:
            self.replay.drop(label)
        return self.record(number, "generate", new, f"{batch} x {prompt}, {limit} tokens")

    def _empty_cache(self) -> None:
        self.model.empty_cache()
        if is_at_least(self.machine.torch, platform_data("graph_cache")["cleared_by_empty_cache"]):
            self.keys.graphs.clear()
            self.model.release_graphs()

    def _largest(self, worst: Shape, first: SegmentFamily, later: SegmentFamily, optimizer: Segment) -> Replay:
        """Return a replay of a step whose every sample is as long as allowed:
        the peak that the user must have room for."""
        replay = Replay()
        for label, waiting in self.replay.held.items():
            for held in waiting:
                replay.hold(label, held.size, held.category)
        for place in range(self.spec.accumulation):
            replay.play((later if place else first).at(worst), "forward and backward")
        replay.play(optimizer, "optimizer step")
        if self.replay.highest > replay.highest:
            return self.replay
        return replay

    def _planned(self, first: SegmentFamily, later: SegmentFamily, records: list[StepRecord]) -> PlannedGraphs:
        """Return the graph keys by the end of the run that the user means to do, and what they keep."""
        known, played = set(self.keys.graphs), sum(record.what == "train" for record in records)
        if not first.is_fitted or self.spec.empty_cache_steps or self.spec.steps <= played:
            count = max(len(known), self.keys.ever if self.spec.empty_cache_steps else 0)
            return PlannedGraphs(count, self.model.retained)
        shapes: set[Shape] = set()
        source = epoch(self.spec, self.spec.seed)
        for group in itertools.islice(source, self.spec.steps * self.spec.accumulation):
            shapes.add(shape_of(self.spec, group))
            if len(shapes) >= MOST_PLANNED_SHAPES:
                break
        for shape in shapes:
            known |= first.keys_at(shape)[1]
        return PlannedGraphs(len(known), self.rig.watch.keys.kept_by(known))

    def _notes(self, first: SegmentFamily) -> Iterator[str]:
        yield from self.remarks
        if first.is_fitted:
            yield f"worked out exactly from {len(first.recorded)} recorded batch shapes"
        if self.spec.generated:
            yield f"generates {self.spec.generated} completions together; emulated before every {GENERATES_EVERY}th step, from the first on"
        if self.spec.lora_rank:
            where = ", ".join(self.spec.lora_targets) or "peft's default modules"
            yield f"LoRA of rank {self.spec.lora_rank} on {where}"


class Evaluator:
    """The evaluations of a run: which are due, and what they add."""

    def __init__(self, run: EmulatedRun) -> None:
        self.run_of = run
        assert run.spec.evaluation is not None
        self.evaluation: Evaluation = run.spec.evaluation
        spec = run.spec
        batches = max(1, -(-self.evaluation.samples // self.evaluation.batch))
        self.count = min(batches, MOST_EVALUATION_BATCHES)
        if self.count < batches:
            run.uncertain.append(f"evaluation was cut to {self.count} of {batches} batches")
        groups = self._groups()
        self.shapes = [shape_of(spec, group) for group in groups]
        self.family = SegmentFamily(lambda shape: record_forward(run.rig, shape), self.shapes)

    def _groups(self) -> list[list[tuple[int, ...]]]:
        from mpslint.verify.child.batches import samples

        size = self.evaluation.batch
        drawn = samples(self.run_of.spec, min(self.evaluation.samples, self.count * size), self.run_of.spec.seed + 1000)
        return [drawn[start : start + size] for start in range(0, len(drawn), size)]

    def is_due(self, number: int, steps: int) -> bool:
        """Return whether an evaluation follows step `number`."""
        every = self.evaluation.every
        return number == steps if not every or every > steps else number % every == 0

    def run(self, number: int) -> Iterator[StepRecord]:
        """Yield the records of one evaluation."""
        run, replay = self.run_of, self.run_of.replay
        replay.start_peak()
        new = [0, 0]
        for shape in self.shapes:
            run.see(self.family.keys_at(shape), new)
        kept = self.evaluation.keeps_logits and not self.evaluation.generates
        host = play_evaluation(replay, (self.family.at(shape) for shape in self.shapes), kept, self.evaluation.accumulation_steps)
        yield run.record(number, "evaluate", new, f"{len(self.shapes)} batches", host)
        if self.evaluation.generates:
            yield run.generate(number, self.shapes[0], max(2, self.evaluation.generation_limit), self.evaluation.beams)


def shapes_text(shapes: list[Shape]) -> str:
    """Return `4 x 512 x 64` for a batch's shape, micro-batches separated by commas."""
    return ", ".join(" x ".join(map(str, shape)) for shape in shapes)


def emulate(spec: RunSpec, machine: VerifiedMac, steps: int, progress: Progress) -> RunResult:
    """Return what `steps` optimizer steps of a run would do on the machine."""
    try:
        return EmulatedRun(spec, machine).run(steps, progress)
    except NothingTrainedError as error:
        return RunResult(spec.name, "emulated", failure=f"RuntimeError: {error}", is_raised_on_mps=True)
