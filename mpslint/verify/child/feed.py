"""The batches that foreign code trains on: which it gets, in which order, and which its loader would give it after them."""

from __future__ import annotations

import contextlib
import copy
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from itertools import islice, pairwise
from typing import Any

import torch

from mpslint.verify.emulator.family import Key, Step

SECONDS = 10.0
"""Of the processor: how long batches may take that are only looked at. What a busy machine runs beside them decides nothing."""
MOST_ALIKE, MOST_BYTES = 2**26, 2**30
"""Bytes of batches that are kept for the code to train on, and of those whose shapes were not met before."""
DEPTH = 4


class Feed:
    """Hands on the batches of the code's own training loader: as they come, and once its next ones are known in an order of its own."""

    def __init__(self) -> None:
        self.given: list[Key] = []
        """The batches that the code got."""
        self.order: list[Key] = []
        """Those that its loader gives, in its own order."""
        self.plan: deque[int] = deque()
        """The places in that order of those that the code gets next; then come all others."""
        self.used = 0
        """How many of the batches given belong to steps that are done, or to passes that were left."""
        self.is_regular = True
        """Whether one loader gives all batches."""
        self.is_open = True
        """Whether the pass in hand goes on."""
        self.kept: dict[int, Any] = {}
        """Batches that were fetched and not given yet, by their places in the loader's order."""
        self.is_ahead = False
        self.rows = 0
        """How many rows the loader's batches have, once others are asked for."""
        self._sized: deque[Any] = deque()
        self._longest: Any = None
        self._ends: list[int] = []
        self._length = self._left = math.inf
        self._waiting: list[Any] = []
        self._source: Iterator[Any] = iter(())
        self._loader: Any = None
        self._begin: Callable[[], Iterable[Any]] = tuple
        self._is_plain = self._is_active = False

    def give(self, loader: Any, begin: Callable[[], Iterable[Any]], *, is_plain: bool) -> Iterator[Any]:
        """Yield the batches of one pass over a loader, which `begin` starts. Those that torch itself puts together (`is_plain`) have one
        shape."""
        if self._is_active or self._loader not in (None, loader):
            self.is_regular = self.is_ahead = False
        self._loader, self._begin, self._is_plain = loader, begin, is_plain
        self.used, self._left, self._is_active = len(self.given), self._length, True
        if not self.is_ahead:
            self._ends.append(len(self.order))
            self._source = iter(begin())
        try:
            while self.is_open and self._has_next():
                yield self._next()
        finally:
            self._is_active = False

    def _has_next(self) -> bool:
        if self._sized:
            return True
        if self.is_ahead:
            return self._left > 0 and bool(self.kept)
        self._waiting = list(islice(self._source, 1))
        self.order += map(key_of, self._waiting)
        return bool(self._waiting)

    def _next(self) -> Any:
        """Return the next batch, and keep no reference to it: what the code moves to the device in place would stay there."""
        if self._sized:
            self.given.append(key_of(self._sized[0]))
            return self._sized.popleft()
        place = len(self.order) - 1
        if self.is_ahead:
            place = self.plan.popleft() if self.plan else min(self.kept)
            self._left -= 1
        self.given.append(self.order[place])
        return self.kept.pop(place) if self.is_ahead else self._waiting.pop()

    @property
    def constant(self) -> Key | None:
        """The shapes of every batch of the loader, where torch itself puts them together."""
        return self.order[0] if self._is_plain and self.is_regular and len(set(self.order)) == 1 else None

    def look_ahead(self, wanted: int) -> None:
        """Fetch batches until `wanted` are known, as long as the loader gives them and time and memory allow."""
        given = len(self.order)
        end, size, seen = time.thread_time() + SECONDS, 0, set(self.order)
        with contextlib.suppress(Exception, SystemExit):
            while len(self.order) < wanted:
                before = len(self.order)
                for batch in self._source:
                    key = key_of(batch)
                    if key not in seen or size < MOST_ALIKE:
                        self.kept[len(self.order)] = batch
                        size += sum(tensor.numel() * tensor.element_size() for tensor in tensors_of(batch))
                    seen.add(key)
                    self.order.append(key)
                    if len(self.order) >= wanted or time.thread_time() > end or size > MOST_BYTES:
                        break
                else:
                    if self._length == math.inf:
                        self._length = len(self.order) - self._ends[-1]
                        self._left = len(self.order) - given
                    if len(self.order) == before:
                        break
                    self._ends.append(len(self.order))
                    self._source = iter(self._begin())
                    continue
                break
            self._longest = copy.deepcopy(self.kept[max(self.kept, key=lambda place: sum(map(math.prod, self.order[place])))])
        self.is_ahead = True

    def resize(self, sizes: Sequence[int], each: int, held_back: int) -> set[Key]:
        """Have the code get the loader's longest batch next, with other numbers of rows: each number for the `each` batches of a step. The
        first step has those that it `held_back`, and is filled up.

        Return their shapes; nothing where a batch can't be cut.
        """
        with contextlib.suppress(Exception, SystemExit):
            batch = self._longest if self._longest is not None else next(iter(self._begin()))
            key = key_of(batch)
            rows = getattr(getattr(self._loader, "batch_sampler", None), "batch_size", 0)
            self.rows = rows if any(rows in shape for shape in key) else key[0][0]
            wanted = [*[sizes[0]] * (-held_back % each), *(size for size in dict.fromkeys((*sizes, self.rows)) for _ in range(each))]
            made = [with_rows(batch, self.rows, size) for size in wanted]
            self._sized.extend(made)
            return {key_of(one) for one in made}
        return set()

    def steps(self, each: int) -> Iterator[tuple[int, Step]]:
        """Yield the optimizer steps of `each` batches that the loader's order makes, with the place of their first batch."""
        for start, end in pairwise([*dict.fromkeys([*self._ends, len(self.order)])]):
            for place in range(start, end - each + 1, each):
                yield place, tuple(self.order[place : place + each])

    def take(self, held_back: int) -> Step:
        """Return the batches of the step that was just done; the code has got `held_back` more for the next one."""
        end = max(self.used, len(self.given) - (held_back if self._is_active else 0))
        step, self.used = tuple(self.given[self.used : end]), end
        return step


def tensors_of(batch: Any, depth: int = 0) -> list[torch.Tensor]:
    """Return the tensors of a batch, those in it by name or in order."""
    if isinstance(batch, torch.Tensor):
        return [batch]
    if isinstance(batch, (str, bytes)) or depth > DEPTH:
        return []
    try:
        values = list(batch.values() if hasattr(batch, "values") else batch)
    except TypeError:
        return []
    return [tensor for value in values for tensor in tensors_of(value, depth + 1)]


def key_of(batch: Any) -> Key:
    """Return the shapes of the tensors of a batch."""
    return tuple(tuple(tensor.shape) for tensor in tensors_of(batch))


def with_rows(batch: Any, rows: int, wanted: int) -> Any:
    """Return a batch of `rows` rows with as many as are wanted, repeated where it has fewer."""
    if isinstance(batch, torch.Tensor):
        if rows not in batch.shape:
            return batch
        return batch.index_select(batch.shape.index(rows), torch.arange(wanted) % rows)
    if isinstance(batch, MutableMapping):
        made = copy.copy(batch)
        for name, value in batch.items():
            made[name] = with_rows(value, rows, wanted)
        return made
    if type(batch) in (list, tuple):
        return type(batch)(with_rows(value, rows, wanted) for value in batch)
    if tensors_of(batch):
        raise TypeError(f"a {type(batch).__name__} cannot be cut")
    return batch


def shapes_text(keys: Sequence[Key]) -> str:
    """Return the shapes of some batches as text, each once."""
    texts = (" ".join(dict.fromkeys("x".join(map(str, shape)) for shape in key)) for key in keys)
    return ", ".join(dict.fromkeys(texts))[:200]
