"""The work of a run's steps: recorded on the emulator for a few batches that stand for all, and for the optimizer."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

from mpslint.core.knowledge import platform_data
from mpslint.estimate.step import StepWork
from mpslint.verify.child.batches import Shape, epoch, shape_of, train_shapes
from mpslint.verify.child.lengths import with_own_lengths
from mpslint.verify.child.rig import Rig
from mpslint.verify.emulator.meter import Meter
from mpslint.verify.emulator.segment import SegmentFamily
from mpslint.verify.platform import precision_outcome
from mpslint.verify.spec import RunSpec, VerifiedMac

RECORDED = 4
"""Batch shapes that are recorded for the work of a mean step."""
DRAWN = 60
MOST_SHAPES = 4000


def step_work(spec: RunSpec, machine: VerifiedMac) -> StepWork:
    """Return the work of a mean optimizer step of a run. Raises ReadError for a run that cannot be emulated."""
    spec, _ = with_own_lengths(spec)
    if spec.precision != "no" and precision_outcome(spec.precision_by, spec.precision, machine).does in ("raises", "ignored"):
        spec = replace(spec, precision="no")
    rig = Rig(spec, machine)
    shapes = [shape for step in train_shapes(spec, max(1, DRAWN // spec.accumulation)) for shape in step]
    meter = Meter(falls_back=rig.coverage.falls_back)
    tokens = _record(rig, shapes, meter)
    graphs = Graphs(Rig(spec, machine, reduced=True), spec, shapes)
    padded_to = int(platform_data("levers")["pad_to"])
    can_pad = spec.padding == "longest" and not spec.source.is_fixed and (spec.pad_to_multiple_of or 1) < padded_to
    return StepWork(
        meter.operators(),
        spec.effective_batch,
        tokens,
        meter.waits,
        graphs.first,
        graphs.planned(spec),
        graphs.planned(replace(spec, pad_to_multiple_of=padded_to)) if can_pad else 0,
        padded_to if can_pad else 0,
        meter.fallbacks(),
        spec.steps if spec.train_samples or not spec.epochs else 0,
        math.ceil(spec.train_samples / spec.effective_batch) if spec.train_samples else 0,
    )


def _record(rig: Rig, shapes: list[Shape], meter: Meter) -> float:
    """Have the meter see a mean step; return the tokens of its inputs."""
    spec = rig.spec
    chosen = quantiles(shapes, RECORDED)
    rig.micro_batch(chosen[0])
    rig.optimizer_step()
    meter.weight = spec.accumulation / len(chosen)
    rig.watch.meter = meter
    for shape in chosen:
        if spec.accumulation == 1:
            rig.watch.meter = None
            rig.drop_gradients()
            rig.watch.meter = meter
        rig.micro_batch(shape)
        rig.discard()
    meter.weight, meter.phase = 1.0, "optimizer"
    rig.optimizer_step()
    rig.watch.meter = None
    rig.discard()
    is_text = "S" in platform_data("models/tasks")[spec.task]["batch"].get("input_ids", ())
    return sum(math.prod(shape[:2]) for shape in chosen) * spec.accumulation / len(chosen) if is_text else 0.0


def quantiles(shapes: list[Shape], count: int) -> list[Shape]:
    """Return shapes from the middle of `count` equal parts, by size; each once where all are equal."""
    ordered = sorted(shapes, key=math.prod)
    if len(set(ordered)) == 1:
        return ordered[:1]
    return [ordered[int((place + 0.5) * len(ordered) / count)] for place in range(count)]


class Graphs:
    """The graphs that a run compiles: of its first step, and of all shapes that it will see.

    A narrow copy of two layers compiles as many: repeated layers share their graphs.
    """

    def __init__(self, rig: Rig, spec: RunSpec, shapes: list[Shape]) -> None:
        self.rig = rig
        rig.watch.keys.all_keys.clear()
        rig.watch.keys.graph_keys.clear()
        rig.drop_gradients()
        rig.micro_batch(shapes[0])
        rig.discard()
        rig.optimizer_step()
        rig.discard()
        self.optimizer = set(rig.watch.keys.graph_keys)
        self.first = len(self.optimizer)
        self.family = SegmentFamily(rig.record_first, list(dict.fromkeys(shapes)))

    def planned(self, spec: RunSpec) -> int:
        """Return the graphs that the whole run compiles; 0 where its shapes cannot be worked out."""
        groups = itertools.islice(epoch(spec, spec.seed), spec.steps * spec.accumulation)
        shapes = set(itertools.islice(dict.fromkeys(shape_of(spec, group) for group in groups), MOST_SHAPES))
        if not self.family.is_fitted and len(shapes) > len(self.family.recorded) + RECORDED:
            return 0
        known = set(self.optimizer)
        for shape in shapes:
            known |= self.family.keys_at(shape)[1]
        return len(known)
