"""One recorded piece of a step (a micro-batch, an optimizer step),
and pieces of other shapes worked out from a few recorded ones.

Layers, widths and operators of a step do not depend on how long the samples are; only the integers do,
and each is a polynomial of
second degree in the lengths. So a few recorded shapes give all others exactly;
held-out recordings prove it before it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import numpy.typing as npt

from mpslint.verify.emulator.keys import Call

Shape = tuple[int, ...]
Numbers = npt.NDArray[np.int64]
Owner = int | str
"""A buffer by its place among the births of its own segment, or by the label it got in an earlier one."""


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """The calls and the births and deaths of buffers, apart from their integers; `numbers` are the integers."""

    fixed: tuple[tuple[Any, bool, int], ...]
    """Per call: its fixed part, whether it keeps a graph, and how many integers it has."""
    events: tuple[tuple[bool, Owner], ...]
    """Per event: whether it is a birth, and whose."""
    labels: tuple[tuple[int, str], ...]
    """What is left alive: the births that later segments know by a label."""
    numbers: Numbers
    categories: tuple[str, ...] = ()
    """Per birth: what it is (activations, logits, attention scores, ...)."""

    @property
    def pattern(self) -> Hashable:
        """Everything but the integers: segments with equal patterns belong to one family."""
        return (self.fixed, self.events, self.labels)

    @property
    def sizes(self) -> list[int]:
        """Return the bytes of each birth, in order."""
        count = sum(is_birth for is_birth, _ in self.events)
        sizes: list[int] = self.numbers[len(self.numbers) - count :].tolist()
        return sizes

    def keys(self) -> tuple[set[Call], set[Call]]:
        """Return the keys of all calls, and of those that keep a graph."""
        everything: set[Call] = set()
        graphs: set[Call] = set()
        numbers, place = self.numbers.tolist(), 0
        for fixed, is_graph, count in self.fixed:
            key = (fixed, tuple(numbers[place : place + count]))
            place += count
            everything.add(key)
            if is_graph:
                graphs.add(key)
        return everything, graphs


Record = Callable[[Shape], Segment]


class SegmentFamily:
    """All shapes of one kind of segment: recorded where needed,
    worked out where a few recordings determine the rest."""

    def __init__(self, record: Record, wanted: Sequence[Shape]) -> None:
        self.record = record
        self.recorded: dict[Shape, Segment] = {}
        self._weights: npt.NDArray[np.float64] | None = None
        self._scale = np.ones(1)
        self._model: Segment | None = None
        self._distinct: list[tuple[Any, bool, int, int]] | None = None
        self._wanted = list(dict.fromkeys(wanted))
        self._fit()

    @property
    def is_fitted(self) -> bool:
        """Whether shapes that were not recorded are worked out."""
        return self._weights is not None

    def at(self, shape: Shape) -> Segment:
        """Return the segment of one shape."""
        known = self.recorded.get(shape)
        if known is not None:
            return known
        if self._weights is None or self._model is None:
            self.recorded[shape] = segment = self.record(shape)
            return segment
        model = self._model
        return Segment(model.fixed, model.events, model.labels, self._work_out(shape), model.categories)

    def keys_at(self, shape: Shape) -> tuple[set[Call], set[Call]]:
        """Return the keys of one shape: of all calls, and of those that keep a graph."""
        if self._weights is None or self._model is None or self.at(shape).pattern != self._model.pattern:
            return self.at(shape).keys()
        numbers = self.at(shape).numbers
        everything: set[Call] = set()
        graphs: set[Call] = set()
        for fixed, is_graph, place, count in self._calls():
            key = (fixed, tuple(numbers[place : place + count].tolist()))
            everything.add(key)
            if is_graph:
                graphs.add(key)
        return everything, graphs

    def _calls(self) -> list[tuple[Any, bool, int, int]]:
        """Return the calls that can differ from each other at some shape: repeated layers make the same keys."""
        if self._distinct is None:
            assert self._model is not None
            assert self._weights is not None
            found: dict[Hashable, tuple[Any, bool, int, int]] = {}
            place = 0
            for fixed, is_graph, count in self._model.fixed:
                columns = np.round(self._weights[:, place : place + count], 3).tobytes()
                found.setdefault((fixed, columns), (fixed, is_graph, place, count))
                place += count
            self._distinct = list(found.values())
        return self._distinct

    def _fit(self) -> None:
        """Record a spread of shapes and fit the integers; leave it when they are few,
        or when a held-out shape is not met exactly."""
        varying = [axis for axis in range(len(self._wanted[0])) if len({shape[axis] for shape in self._wanted}) > 1]
        features = 1 + len(varying) + len(varying) * (len(varying) + 1) // 2
        if len(self._wanted) <= features + 2:
            return
        chosen = spread(self._wanted, features + 3)
        for shape in chosen:
            self.recorded[shape] = self.record(shape)
        groups: dict[Hashable, list[Shape]] = {}
        for shape in chosen:
            groups.setdefault(self.recorded[shape].pattern, []).append(shape)
        shapes = max(groups.values(), key=len)
        if len(shapes) <= features:
            return
        self._scale = np.array([max(shape[axis] for shape in shapes) for axis in range(len(shapes[0]))], dtype=np.float64)
        terms = np.stack([self._terms(shape) for shape in shapes])
        numbers = np.stack([self.recorded[shape].numbers for shape in shapes]).astype(np.float64)
        held = len(shapes) - features
        weights, *_ = np.linalg.lstsq(terms[:-held], numbers[:-held], rcond=None)
        if np.array_equal(np.rint(terms @ weights), numbers):
            self._weights, self._model = weights.astype(np.float64), self.recorded[shapes[0]]

    def _terms(self, shape: Shape) -> npt.NDArray[np.float64]:
        values = np.asarray(shape, dtype=np.float64) / self._scale
        second = [values[a] * values[b] for a, b in combinations_with_replacement(range(len(values)), 2)]
        return np.concatenate([[1.0], values, second])

    def _work_out(self, shape: Shape) -> Numbers:
        assert self._weights is not None
        worked: Numbers = np.rint(self._terms(shape) @ self._weights).astype(np.int64)
        return worked


def spread(shapes: Sequence[Shape], count: int) -> list[Shape]:
    """Return `count` of the shapes, far apart from each other: the biggest first,
    then whichever is farthest from those chosen."""
    points = np.asarray(shapes, dtype=np.float64)
    points = points / np.maximum(points.max(axis=0), 1)
    chosen = [int(points.sum(axis=1).argmax())]
    nearest = np.full(len(shapes), np.inf)
    while len(chosen) < min(count, len(shapes)):
        nearest = np.minimum(nearest, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
        nearest[chosen] = -1
        chosen.append(int(nearest.argmax()))
    return [shapes[index] for index in chosen]
