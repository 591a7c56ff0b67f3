"""What a run does to memory and to the graph cache, written down in one order and cut into passages that can be played again."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mpslint.verify.emulator.keys import Call, GraphCache
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
