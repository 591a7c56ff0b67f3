"""Plays passages through the model of the allocator and the graph cache, event by event as they were recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mpslint.verify.emulator.allocator import AllocatorModel
from mpslint.verify.emulator.keys import GraphCache
from mpslint.verify.emulator.log import BIRTH, Kind, Label, Numbers, Program
from mpslint.verify.emulator.pools import Block

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
