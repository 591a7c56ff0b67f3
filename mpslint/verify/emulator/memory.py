"""Which tensors are alive: every storage that an operator makes is counted until the last reference to it goes."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from mpslint.verify.emulator.accumulate import in_backward
from mpslint.verify.emulator.allocator import AllocatorModel
from mpslint.verify.emulator.log import EventLog
from mpslint.verify.emulator.pools import Block


@dataclass(slots=True)
class Buffer:
    """One storage: how big, for which shape, and the line that made it."""

    number: int
    size: int
    shape: tuple[int, ...]
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
        self.buffers[number] = Buffer(number, size, tuple(tensor.shape), line)
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


Birth = tuple[str, str, tuple[int, ...]]
"""The operator that made a tensor, the part of the step, the shape."""

FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"
WEIGHTS, GRADIENTS = "weights", "gradients"
ACTIVATIONS, LOGITS, SCORES = "activations", "logits", "attention scores"


def part_of_step() -> str:
    """Return the part of a training step that is under way: clipping and the optimizer's step work without gradient."""
    return BACKWARD if in_backward() else FORWARD if torch.is_grad_enabled() else OPTIMIZER


def classify(births: Sequence[Birth], weights: frozenset[tuple[int, ...]]) -> list[str]:
    """Return the category of each birth; gradients have the shapes of the weights."""
    scores = {shape[-2:] for op, _, shape in births if op.startswith(("_softmax", "_safe_softmax")) and len(shape) == 4}
    classes = {shape[-1] for op, _, shape in births if op.startswith("_log_softmax")}
    found = []
    for _, phase, shape in births:
        if phase == OPTIMIZER:
            found.append(OPTIMIZER)
        elif phase == BACKWARD and shape in weights:
            found.append(GRADIENTS)
        elif len(shape) > 1 and shape[-1] in classes:
            found.append(LOGITS)
        elif len(shape) >= 3 and shape[-2:] in scores:
            found.append(SCORES)
        else:
            found.append(ACTIVATIONS)
    return found
