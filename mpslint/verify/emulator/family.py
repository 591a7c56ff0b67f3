"""Passages that differ in their integers only: those of other batch shapes are worked out from the recorded ones.

Layers, widths and operators of a step don't depend on how long the samples are. Its integers do, and each is a polynomial of second degree
in one or two lengths of one of its batches. Recordings that the polynomials don't need prove them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from mpslint.verify.emulator.log import Numbers, Passage, Program

Key = tuple[tuple[int, ...], ...]
"""The shapes of the tensors of a batch."""
Step = tuple[Key, ...]
"""The batches of an optimizer step."""
SPARE = 2
"""Recordings beyond those that a polynomial needs."""
Table = npt.NDArray[np.float64]


def lengths(step: Step) -> tuple[int, ...]:
    """Return all sizes in the shapes of a step's batches, in order."""
    return tuple(size for key in step for shape in key for size in shape)


def structure(step: Step) -> tuple[tuple[int, ...], ...]:
    """Return what steps must have alike to be worked out from each other: how many batches, tensors and dimensions."""
    return tuple(tuple(len(shape) for shape in key) for key in step)


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of second degree in one or two lengths, and those of third degree where both vary: a size of batches is one of them."""

    lengths: tuple[int, ...]
    scale: float
    is_cubic: bool = False

    def of(self, table: Table) -> Table:
        """Return the terms of each row of lengths."""
        values = table[:, self.lengths] / self.scale
        columns = [np.ones(len(values)), *values.T, *(values.T**2)]
        if len(self.lengths) == 2:
            product = values[:, 0] * values[:, 1]
            columns += [product, *(product[:, None] * values).T] if self.is_cubic else [product]
        return np.stack(columns, axis=1)


class Family:
    """The passages of one program, by the shapes of their batches."""

    def __init__(self, passages: Sequence[tuple[Step, Passage]]) -> None:
        first = passages[0][1]
        self.program: Program = first.program
        self.rows = np.stack([passage.numbers for _, passage in passages])
        self.recorded: dict[Step, Numbers] = {step: passage.numbers for step, passage in passages}
        self.is_consistent = all(np.array_equal(self.recorded[step], passage.numbers) for step, passage in passages)
        """Whether the shapes decide: equal ones gave equal integers."""
        self.repeats = len(passages) - len(self.recorded)
        self._structure = structure(passages[0][0])
        self._parts = self._fit([step for step, _ in passages]) if self.is_consistent else None

    @property
    def is_fitted(self) -> bool:
        """Whether other shapes than the recorded ones are known."""
        return self._parts is not None

    def covers(self, step: Step) -> bool:
        """Return whether the integers of a step with batches of some shapes follow from what was recorded."""
        if not self.is_consistent:
            return False
        if step in self.recorded and (self.is_fitted or self.repeats):
            return True
        if self._parts is None or structure(step) != self._structure:
            return False
        sizes = np.asarray([lengths(step)], dtype=np.float64)
        is_inside = bool(((self._bounds[0] <= sizes) & (sizes <= self._bounds[1])).all())
        return is_inside and all(_is_within(terms.of(sizes), space) for terms, space in self._spaces)

    def at(self, step: Step) -> Numbers:
        """Return the integers of a step that is covered."""
        known = self.recorded.get(step)
        if known is not None:
            return known
        found: Numbers = self.rows[0].copy()
        sizes = np.asarray([lengths(step)], dtype=np.float64)
        for terms, columns, weights in self._parts or ():
            found[columns] = np.rint(terms.of(sizes) @ weights)[0].astype(np.int64)
        return found

    def _fit(self, steps: Sequence[Step]) -> list[tuple[Terms, Numbers, Table]] | None:
        """Return polynomials for all integers that differ: their terms, the columns, the weights. None where there are none that give every
        recording."""
        rows = [row for row, step in enumerate(steps) if structure(step) == self._structure]
        if len({steps[row] for row in rows}) <= SPARE:
            return None
        table = np.asarray([lengths(steps[row]) for row in rows], dtype=np.float64)
        numbers = self.rows[rows]
        self._bounds = _span(table, steps[0])
        varying = _varying(table, steps[0])
        widest = [pair for batch in varying for pair in combinations(batch, min(2, len(batch))) if pair]
        choices = [(pair, is_cubic) for is_cubic in (False, True) for pair in widest]
        choices = [*(((one,), False) for batch in varying for one in batch), *(choice for choice in choices if len(choice[0]) == 2)]
        self._spaces: list[tuple[Terms, Table]] = []
        left = np.flatnonzero((numbers != numbers[0]).any(axis=0))
        parts: list[tuple[Terms, Numbers, Table]] = []
        for chosen, is_cubic in choices:
            terms = Terms(chosen, float(table[:, chosen].max()), is_cubic)
            values = terms.of(table)
            if (not is_cubic and chosen in widest) or len(left):
                self._spaces.append((terms, _space(values)))
            if len(left) and len(set(map(bytes, values))) >= np.linalg.matrix_rank(values) + SPARE:
                wanted = numbers[:, left].astype(np.float64)
                weights: Table = np.linalg.lstsq(values, wanted, rcond=None)[0].astype(np.float64)
                is_met = (np.rint(values @ weights) == wanted).all(axis=0)
                parts.append((terms, left[is_met], weights[:, is_met]))
                left = left[~is_met]
        return None if len(left) else parts


def _space(values: Table) -> Table:
    """Return what projects terms onto those that were recorded."""
    projection: Table = np.linalg.pinv(values) @ values
    return projection


def _is_within(values: Table, space: Table) -> bool:
    """Return whether terms follow from those that were recorded."""
    return bool(np.abs(values - values @ space).max() < 1e-9)


def _span(table: Table, step: Step) -> tuple[Table, Table]:
    """Return the least and the greatest of each length, over all batches of a step where these are of one structure."""
    low, high = table.min(axis=0), table.max(axis=0)
    if len({tuple(map(len, key)) for key in step}) == 1:
        low = np.tile(low.reshape(len(step), -1).min(axis=0), len(step))
        high = np.tile(high.reshape(len(step), -1).max(axis=0), len(step))
    return low, high


def _varying(table: Table, step: Step) -> list[list[int]]:
    """Return the lengths that integers may depend on, by batch: those that vary, each different one once."""
    start, batches = 0, []
    for key in step:
        end = start + sum(map(len, key))
        columns = (column for column in range(start, end) if (table[:, column] != table[0, column]).any())
        batches.append(list({table[:, column].tobytes(): column for column in columns}.values()))
        start = end
    return batches


def telling(steps: Mapping[int, Step], known: Sequence[Step], count: int) -> list[int]:
    """Return at most `count` of some steps of one structure from which, with those known, the integers of all others follow.

    Each time it's the one that tells most that isn't known of the polynomials of its batches and of the span of its lengths, and of those
    the farthest from all known.
    """
    names, everything = list(steps), [*steps.values(), *known]
    table = np.asarray([lengths(step) for step in everything], dtype=np.float64)
    first = everything[0]
    pairs = [pair for batch in _varying(table, first) for pair in combinations(batch, min(2, len(batch))) if pair]
    spaces = [Terms(pair, float(table[:, pair].max())).of(table) for pair in pairs]
    spaces = [terms / np.linalg.norm(terms, axis=1, keepdims=True) for terms in spaces]
    near = table / np.maximum(table.max(axis=0), 1)
    chosen, found = list(range(len(names), len(everything))), list[int]()
    while len(found) < min(count, len(names)):
        tells = np.zeros(len(everything))
        for terms in spaces:
            given = {row.tobytes() for row in terms[chosen]}
            if len(given) < (np.linalg.matrix_rank(terms[chosen]) if chosen else 0) + SPARE:
                tells += [row.tobytes() not in given for row in terms]
            if chosen:
                tells += 2 * (np.linalg.norm(terms - terms @ _space(terms[chosen]), axis=1) > 1e-6)
        if chosen:
            low, high = _span(table[chosen], first)
            tells += ((table < low) | (table > high)).sum(axis=1)
            away = np.min([((near - near[place]) ** 2).sum(axis=1) for place in chosen], axis=0)
        else:
            away = near.sum(axis=1)
        if not tells[: len(names)].any() and len(found) > SPARE:
            break
        best = max(set(range(len(names))) - set(found), key=lambda place: (tells[place], away[place]))
        chosen.append(best)
        found.append(best)
    return [names[place] for place in found]
