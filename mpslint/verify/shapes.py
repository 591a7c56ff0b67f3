"""The shapes of a run's batches: the lengths of its samples, drawn, and how they are gathered and padded."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from mpslint.core.knowledge import platform_data
from mpslint.verify.spec import Lengths, RunSpec, Task

Shape = tuple[int, ...]
"""Batch size, source length, and target length where the task has targets of their own."""


def has_targets(task: Task) -> bool:
    """Return whether a task has targets with lengths of their own."""
    return any("T" in dims for dims in platform_data("models/tasks")[task]["batch"].values())


def samples(spec: RunSpec, count: int, seed: int) -> list[Shape]:
    """Return the (source, target) lengths of `count` samples, or (source,) where there is no target."""
    limits = [spec.source, *([spec.target or Lengths(64, 24)] if has_targets(spec.task) else [])]
    return list(zip(*(_drawn(lengths, count, seed + place) for place, lengths in enumerate(limits)), strict=True))


def _drawn(lengths: Lengths, count: int, seed: int) -> list[int]:
    draw = random.Random(seed)
    if lengths.is_fixed:
        return [lengths.limit] * count
    mean = math.log(lengths.median)
    return [max(1, min(lengths.limit, round(math.exp(draw.gauss(mean, lengths.sigma))))) for _ in range(count)]


def shape_of(spec: RunSpec, group: list[Shape]) -> Shape:
    """Return the shape of the batch that some samples make."""
    source, *targets = (max(column) for column in zip(*group, strict=True))
    multiple = spec.pad_to_multiple_of or 1
    padded = [-(-longest // multiple) * multiple for longest in (source, *targets)]
    return (len(group), spec.source.limit if spec.padding == "max_length" else padded[0], *padded[1:])


def train_shapes(spec: RunSpec, steps: int) -> list[list[Shape]]:
    """Return, for each optimizer step, the shapes of its micro-batches, in the order in which the run's sampler takes them."""
    batches = _epochs(spec)
    return [[shape_of(spec, next(batches)) for _ in range(spec.accumulation)] for _ in range(steps)]


def _epochs(spec: RunSpec) -> Iterator[list[Shape]]:
    size, number = max(20_000, spec.effective_batch), 0
    while True:
        order = samples(spec, size, spec.seed + number)
        if spec.group_by_length:
            order = _grouped(order, spec.train_batch)
        for start in range(0, size, spec.train_batch):
            group = order[start : start + spec.train_batch]
            if len(group) == spec.train_batch or not spec.drop_last:
                yield group
        number += 1


def _grouped(order: list[Shape], batch: int) -> list[Shape]:
    """Return samples as a length-grouped sampler takes them: sorted by length inside mega-batches of 50 batches."""
    mega = max(1, min(len(order) // (batch * 4), 50)) * batch
    found: list[Shape] = []
    for start in range(0, len(order), mega):
        found += sorted(order[start : start + mega], key=lambda lengths: -lengths[0])
    return found


def worst_shape(spec: RunSpec) -> Shape:
    """Return the largest shape that a training batch can have: every sequence as long as its limit allows."""
    limits = [spec.source.limit, *([(spec.target or Lengths(64)).limit] if has_targets(spec.task) else [])]
    return (spec.train_batch, *shape_of(spec, [tuple(limits)])[1:])


def quantiles(shapes: list[Shape], count: int) -> list[Shape]:
    """Return shapes from the middle of `count` equal parts, by size; each once where all are equal."""
    ordered = sorted(shapes, key=math.prod)
    if len(set(ordered)) == 1:
        return ordered[:1]
    return [ordered[int((place + 0.5) * len(ordered) / count)] for place in range(count)]
