"""Which tensors are alive: every storage that an operator makes is counted until the last reference to it goes."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from mpslint.verify.emulator.allocator import AllocatorModel
from mpslint.verify.emulator.breakdown import Birth, part_of_step
from mpslint.verify.emulator.log import EventLog
from mpslint.verify.emulator.pools import Block


@dataclass(slots=True)
class Buffer:
    """One storage: how big, which operator made it, for which shape and dtype."""

    number: int
    size: int
    op: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    line: str = ""


@dataclass(slots=True)
class LiveMemory:
    """The storages that are alive."""

    live: int = 0
    peak: int = 0
    buffers: dict[int, Buffer] = field(default_factory=dict)
    births: list[Birth] | None = None
    """What each storage is made by, by its number, where somebody asks for it."""
    allocator: AllocatorModel | None = None
    """A model that takes every birth and death as it comes."""
    line_of: Callable[[], str] | None = None
    """What tells the line of the user's code that is running."""
    log: EventLog | None = None
    """Takes every birth and death, in one order with the calls."""
    count: int = 0
    """How many storages were seen so far."""
    _blocks: dict[int, Block] = field(default_factory=dict)
    _known: dict[int, tuple[Any, int]] = field(default_factory=dict)

    def see(self, tensor: torch.Tensor, op: str = "given") -> int:
        """Count the storage of `tensor` if it is new; return its number."""
        storage = tensor.untyped_storage()
        address = storage._cdata
        known = self._known.get(address)
        if known is not None and known[0]() is storage:
            return known[1]
        number, size = self.count, storage.nbytes()
        self.count += 1

        def dies(_: object, self: LiveMemory = self, address: int = address, number: int = number, size: int = size) -> None:
            if self._known.get(address, (None, -1))[1] == number:
                del self._known[address]
            buffer = self.buffers.pop(number, None)
            self.live -= size if buffer is None else buffer.size
            block = self._blocks.pop(number, None)
            if block is not None and self.allocator is not None:
                self.allocator.free(block)
            if self.log is not None:
                self.log.died(number)

        self._known[address] = (weakref.ref(storage, dies), number)
        line = self.line_of() if self.line_of is not None else ""
        self.buffers[number] = Buffer(number, size, op, tuple(tensor.shape), tensor.dtype, line)
        self.live += size
        self.peak = max(self.peak, self.live)
        if self.log is not None:
            self.log.born(size, line)
        if self.allocator is not None:
            block = self.allocator.allocate(size)
            if block is not None:
                self._blocks[number] = block
        if self.births is not None:
            self.births.append((op, part_of_step(), tuple(tensor.shape)))
        return number

    def detach(self) -> dict[int, Block]:
        """Tell the allocator nothing from now on; return the blocks of what is alive, by number."""
        blocks, self._blocks, self.allocator = self._blocks, {}, None
        return blocks

    def attach(self, allocator: AllocatorModel, blocks: dict[int, Block | None], live: int, peak: int) -> None:
        """Go on with an allocator where what is alive lies in some blocks; keep no log."""
        self.allocator, self.log, self.live, self.peak = allocator, None, live, peak
        self._blocks = {number: block for number, block in blocks.items() if block is not None}
