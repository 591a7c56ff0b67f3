"""The samples of a run: their lengths, how they are gathered into padded batches, and the tensors of one batch."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from mpslint.core.knowledge import platform_data
from mpslint.verify.spec import Lengths, RunSpec

Shape = tuple[int, ...]
"""Batch size, source length, and target length where the task has targets of their own."""


def sample_lengths(lengths: Lengths, count: int, seed: int) -> list[int]:
    """Return the lengths of `count` samples: those observed, in a shuffled order,
    else drawn from the stated distribution."""
    draw = random.Random(seed)
    if lengths.observed:
        known = [min(length, lengths.limit) for length in lengths.observed]
        found: list[int] = []
        while len(found) < count:
            draw.shuffle(known)
            found += known
        return found[:count]
    if lengths.is_fixed:
        return [lengths.limit] * count
    mean = math.log(lengths.median)
    return [max(1, min(lengths.limit, round(math.exp(draw.gauss(mean, lengths.sigma))))) for _ in range(count)]


def has_targets(spec: RunSpec) -> bool:
    """Return whether the task has targets with lengths of their own."""
    return any("T" in dims for dims in platform_data("models/tasks")[spec.task]["batch"].values())


def is_paired(spec: RunSpec) -> bool:
    """Return whether a sample is two texts that are padded alike."""
    return any("P" in dims for dims in platform_data("models/tasks")[spec.task]["batch"].values())


def samples(spec: RunSpec, count: int, seed: int) -> list[tuple[int, ...]]:
    """Return the (source, target) lengths of `count` samples, or (source,) where there is no target."""
    if is_paired(spec):
        both = sample_lengths(spec.source, 2 * count, seed)
        return [(max(pair),) for pair in zip(both[:count], both[count:], strict=True)]
    source = sample_lengths(spec.source, count, seed)
    if not has_targets(spec):
        return [(length,) for length in source]
    target = spec.target or Lengths(limit=64, median=24)
    return list(zip(source, sample_lengths(target, count, seed + 1), strict=False))


def pad(spec: RunSpec, lengths: list[int], limit: int, *, is_target: bool = False) -> int:
    """Return how long the longest of some sequences becomes by the run's padding."""
    longest = max(lengths)
    if spec.padding == "max_length" and not is_target:
        return limit
    multiple = spec.pad_to_multiple_of
    return -(-longest // multiple) * multiple if multiple else longest


def shape_of(spec: RunSpec, group: list[tuple[int, ...]]) -> Shape:
    """Return the shape of the batch that some samples make."""
    limits = (spec.source.limit, spec.target.limit if spec.target else 64)
    columns = zip(*group, strict=False)
    padded = (
        pad(spec, list(column), limit, is_target=place > 0) for place, (column, limit) in enumerate(zip(columns, limits, strict=False))
    )
    return (len(group), *padded)


def epoch(spec: RunSpec, seed: int) -> Iterator[list[tuple[int, ...]]]:
    """Yield the micro-batches of endless epochs, in the order in which the run's sampler takes them."""
    size = spec.train_samples or max(20_000, spec.effective_batch)
    number = 0
    while True:
        order = samples(spec, size, seed + number if spec.train_samples is None else seed)
        random.Random(seed + 7 * number).shuffle(order)
        if spec.group_by_length:
            order = grouped(order, spec.train_batch)
        for start in range(0, size, spec.train_batch):
            group = order[start : start + spec.train_batch]
            if len(group) == spec.train_batch or not spec.drop_last:
                yield group
        number += 1


def grouped(order: list[tuple[int, ...]], batch: int) -> list[tuple[int, ...]]:
    """Return samples as a length-grouped sampler takes them: sorted by length inside mega-batches of 50 batches."""
    mega = max(1, min(len(order) // (batch * 4), 50)) * batch
    found: list[tuple[int, ...]] = []
    for start in range(0, len(order), mega):
        found += sorted(order[start : start + mega], key=lambda lengths: -lengths[0])
    return found


def train_shapes(spec: RunSpec, steps: int) -> list[list[Shape]]:
    """Return, for each optimizer step, the shapes of its micro-batches."""
    source = epoch(spec, spec.seed)
    return [[shape_of(spec, next(source)) for _ in range(spec.accumulation)] for _ in range(steps)]


def worst_shape(spec: RunSpec, batch: int | None = None) -> Shape:
    """Return the largest shape that a training batch can have: every sequence as long as its limit allows."""
    limits: list[tuple[int, ...]] = [
        (spec.source.limit,) if not has_targets(spec) else (spec.source.limit, (spec.target or Lengths(64)).limit)
    ]
    return (batch or spec.train_batch, *shape_of(spec, limits)[1:])


def dimensions(config: Any, shape: Shape) -> dict[str, int]:
    """Return what the letters of a task's batch stand for, for one shape."""
    image = getattr(config, "image_size", 224)
    return {
        "B": shape[0],
        "P": 2 * shape[0],
        "S": shape[1] if len(shape) > 1 else 1,
        "T": shape[2] if len(shape) > 2 else 1,
        "I": image if isinstance(image, int) else image[0],
        "C": getattr(config, "num_channels", 3),
        "M": getattr(config, "num_mel_bins", 80),
    }


def make_batch(spec: RunSpec, config: Any, shape: Shape, device: str) -> dict[str, torch.Tensor]:
    """Return a batch of one shape on `device`, its values arbitrary but valid."""
    sizes = dimensions(config, shape)
    layout: Mapping[str, list[str]] = platform_data("models/tasks")[spec.task]["batch"]
    batch = {}
    for name, dims in layout.items():
        whole = tuple(sizes[dim] for dim in dims)
        is_real = name in ("pixel_values", "input_features", "input_values")
        batch[name] = torch.ones(whole, dtype=torch.float32 if is_real else torch.int64, device=device)
    return batch
