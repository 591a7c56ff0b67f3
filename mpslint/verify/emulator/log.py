"""What a run does to memory and to the graph cache, written down in one order and cut into passages; and what plays them again."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mpslint.verify.emulator.allocator import AllocatorModel
from mpslint.verify.emulator.keys import Call, GraphCache
from mpslint.verify.emulator.pools import Block
from mpslint.verify.outcome import What

Numbers = npt.NDArray[np.int64]
Label = tuple[str, int, int]
"""A buffer that outlives its passage: the kind of that passage, the number of its step (in a program: how many steps ago that was), and
its place among those that outlive it."""
BIRTH = 0
Program = tuple[int | Label | None, ...]
"""A passage without its integers: 0 is a birth, n the call number n - 1 of the log, -n the death of the passage's birth number n - 1, a
label the death of an older buffer, None `empty_cache()`."""
Kind = tuple[Any, bool, int]
"""A call without its integers: its fixed part, whether it keeps a graph, and how many integers it has."""


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """All that happened between two records of a run."""

    what: What
    program: Program
    numbers: Numbers
    """The integers of the calls, then the bytes of the births."""
    lines: tuple[str, ...]
    """The line of the user's code that made each birth."""
    survivors: tuple[int, ...]
    """The births that outlive the passage."""
    first: int = 0
    """The number of its first buffer."""

    @property
    def is_balanced(self) -> bool:
        """Whether as many older buffers die as are left alive."""
        return len(self.survivors) == sum(type(event) is tuple for event in self.program)


class EventLog:
    """Births and deaths of buffers, calls, and `empty_cache()`, in the order in which they happen."""

    def __init__(self, keys: GraphCache) -> None:
        self.keys = keys
        self.kinds: list[Kind] = []
        self.labels: dict[int, Label] = {}
        """The buffers of earlier passages that are alive, by number."""
        self.count = 0
        """How many events there were."""
        self._events: list[Any] = []
        self._lines: list[str] = []
        self._first = 0
        self._places: dict[Kind, int] = {}
        self._known: dict[Call, tuple[int, tuple[int, ...]]] = {}

    def born(self, size: int, line: str) -> None:
        """Take a buffer, whose number is one more than that of the last one."""
        self._events.append(size)
        self._lines.append(sys.intern(line))

    def died(self, number: int) -> None:
        """Take the death of a buffer."""
        self._events.append(~number)

    def called(self, key: Call) -> None:
        """Take a call."""
        known = self._known.get(key)
        if known is None:
            kind = (key[0], self.keys.is_compiled(key), len(key[1]))
            place = self._places.setdefault(kind, len(self.kinds))
            if place == len(self.kinds):
                self.kinds.append(kind)
            known = self._known[key] = (place, key[1])
        self._events.append(known)

    def emptied(self) -> None:
        """Take an `empty_cache()`."""
        self._events.append(None)

    def cut(self, what: What, step: int) -> Passage:
        """Return what happened since the last cut as a passage of a step; what it leaves alive gets its label."""
        first, sizes, integers, dead = self._first, [], [], set()
        program: list[int | Label | None] = []
        for event in self._events:
            if type(event) is tuple:
                program.append(event[0] + 1)
                integers += event[1]
            elif event is None:
                program.append(None)
            elif event >= 0:
                program.append(BIRTH)
                sizes.append(event)
            elif ~event >= first:
                program.append(first + event)
                dead.add(~event - first)
            elif (label := self.labels.pop(~event, None)) is not None:
                program.append((label[0], step - label[1], label[2]))
        survivors = tuple(place for place in range(len(sizes)) if place not in dead)
        self.labels.update({first + place: (what, step, number) for number, place in enumerate(survivors)})
        lines, self._lines, self._first = tuple(self._lines), [], first + len(sizes)
        self.count += len(self._events)
        self._events = []
        return Passage(what, tuple(program), np.asarray(integers + sizes, dtype=np.int64), lines, survivors, first)


DIES, DIES_LATER, CALL, EMPTY = 1, 2, 3, 4
Operation = tuple[int, Any]
Held = tuple[int, Block | None]
"""The bytes of a buffer, and its block."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program in the order in which it's played. Calls that can't differ from an earlier one are left out: they find its graph."""

    operations: tuple[Operation, ...]
    births: int
    survivors: tuple[int, ...]


def compiled(program: Program, kinds: list[Kind], rows: Numbers) -> Compiled:
    """Return a program ready to be played with integers like those of `rows`, one row for each recording."""
    operations: list[Operation] = []
    births, start, dead = 0, 0, set()
    seen: set[tuple[int, bytes]] = set()
    for event in program:
        if event is None:
            operations.append((EMPTY, None))
            seen.clear()  # late torch compiles all graphs again
        elif isinstance(event, tuple):
            operations.append((DIES_LATER, event))
        elif event == BIRTH:
            operations.append((BIRTH, births))
            births += 1
        elif event < 0:
            dead.add(-event - 1)
            operations.append((DIES, -event - 1))
        else:
            fixed, is_graph, count = kinds[event - 1]
            same = (event, rows[:, start : start + count].tobytes())
            if same not in seen:
                seen.add(same)
                operations.append((CALL, (fixed, is_graph, start, start + count)))
            start += count
    return Compiled(tuple(operations), births, tuple(place for place in range(births) if place not in dead))


@dataclass(slots=True)
class Player:
    """Memory and graphs while passages are played one after the other."""

    allocator: AllocatorModel
    keys: GraphCache
    empty_cache: Any
    held: dict[Label, Held] = field(default_factory=dict)
    """What is alive of earlier passages, by the step that made it."""
    live: int = 0
    peak: int = 0
    place: int = -1
    """The birth that is under way, to tell whose line ran out of memory."""

    def play(self, program: Compiled, numbers: Sequence[int], what: str, step: int) -> None:
        """Play a passage of a step. Raises OutOfMemoryError where torch does."""
        sizes = numbers[len(numbers) - program.births :]
        blocks: dict[int, Block | None] = {}
        allocate, free = self.allocator.allocate, self.allocator.free
        live = peak = self.live
        self.peak = peak
        try:
            for kind, value in program.operations:
                if kind == BIRTH:
                    live += sizes[value]
                    if live > peak:
                        peak = live
                    self.place = value
                    blocks[value] = allocate(sizes[value])
                elif kind == DIES:
                    live -= sizes[value]
                    block = blocks.pop(value)
                    if block is not None:
                        free(block)
                elif kind == CALL:
                    fixed, is_graph, start, end = value
                    self.keys.add((fixed, tuple(numbers[start:end])), is_graph=is_graph)
                elif kind == DIES_LATER:
                    size, block = self.held.pop((value[0], step - value[1], value[2]), (0, None))
                    live -= size
                    if block is not None:
                        free(block)
                else:
                    self.empty_cache()
        finally:
            self.live, self.peak = live, peak
        for number, place in enumerate(program.survivors):
            self.held[what, step, number] = (sizes[place], blocks[place])
