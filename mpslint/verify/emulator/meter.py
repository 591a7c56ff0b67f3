"""Counts what each operator of a step does: its kind, arithmetic, bytes, and whether the program waits for it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

from mpslint.core.knowledge import platform_data
from mpslint.estimate.step import Fallback, Operators
from mpslint.verify.emulator.memory import OPTIMIZER, part_of_step
from mpslint.verify.emulator.remembered import tensors_in

SEQUENCES = (list, tuple)
Entry = tuple[str, str, str, float, float, tuple[int, ...]]
"""Kind, part of the step, dtype, FLOP, bytes, shape of the result."""


class Meter:
    """Sees every operator of a recorded step. `weight` is how much of one each counts: 0.25 in each of four steps, 0 in those left out.
    `falls_back` tells whether an operator runs on the CPU."""

    def __init__(self, weight: float = 1.0, falls_back: Callable[[str], bool] = lambda name: False) -> None:
        self.weight, self.falls_back, self.waits = weight, falls_back, 0.0
        self.entries: dict[Entry, float] = defaultdict(float)
        self.copies: dict[tuple[str, float], float] = defaultdict(float)
        """By operator of the CPU and the bytes of its tensors: how often."""
        table = platform_data("step_time")
        self._kinds = {name: kind for kind, names in table["kinds"].items() for name in names}
        self._rows, self._free = frozenset(table["rows"]), frozenset(table["free"])
        self._waits, self._compute = frozenset(table["waits"]), frozenset(table["compute"])

    def see(self, func: Any, name: str, args: Any, kwargs: dict[str, Any], out: Any) -> None:
        """Count one operator that ran on the device; views are left out by the caller."""
        base = name.partition(".")[0]
        if base in self._free or not self.weight:
            return
        if base in self._waits:
            self.waits += self.weight
            return
        inputs, made = list(tensors_in(args)), list(tensors_in((out,)))
        if self.falls_back(name):
            self.copies[name, float(sum(map(_bytes, (*inputs, *made))))] += self.weight
        shape = tuple(made[0].shape) if made else ()
        kind = self._kinds.get(base, "elementwise")
        flop = _flop(func, args, kwargs, out) if kind in self._compute else 0.0
        if kind == "convolution" and _groups(base, args) > 1:
            kind = "depthwise"
            flop /= _groups(base, args) if base == "convolution_backward" else 1
        if base.startswith("_fused_") or base.startswith("_foreach_"):
            lists = next((value for value in args if isinstance(value, SEQUENCES)), ())
            count = 1.0 if base.startswith("_fused_") else float(len(lists))
            moved = float(sum(map(_bytes, inputs)) + (sum(map(_bytes, made)) or _written(base, args)))
            moved, flop = moved / max(count, 1.0), 0.0
        else:
            count, moved = 1.0, self._moved(base, inputs, made)
        dtype = next((str(one.dtype).removeprefix("torch.") for one in inputs if one.is_floating_point()), "int64")
        self.entries[kind, part_of_step(), dtype, flop, moved, shape] += count * self.weight

    def _moved(self, base: str, inputs: list[torch.Tensor], made: list[torch.Tensor]) -> float:
        """Return the bytes that an operator reads and writes."""
        written = sum(map(_bytes, made))
        if base in self._rows:
            rest = inputs[1:] if len(inputs) > 1 else []
            return float(2 * written + sum(map(_bytes, rest)))
        if base in ("zero_", "fill_"):
            return float(written)
        seen = {id(one): _bytes(one) for one in inputs}
        return float(sum(seen.values()) + written)

    def fallbacks(self) -> tuple[Fallback, ...]:
        """Return the operators that ran on the CPU, those that copy most first."""
        counts: dict[str, float] = defaultdict(float)
        moved: dict[str, float] = defaultdict(float)
        for (name, size), count in self.copies.items():
            counts[name] += count
            moved[name] += size * count
        return tuple(Fallback(name, counts[name], moved[name] / counts[name]) for name in sorted(counts, key=lambda one: -moved[one]))

    def operators(self) -> tuple[Operators, ...]:
        """Return what was counted, equal operators joined; what is done to attention scores belongs to attention."""
        scores = {shape for kind, _, _, _, _, shape in self.entries if kind == "softmax" and len(shape) == 4}
        joined: dict[tuple[str, str, str, float, float], float] = defaultdict(float)
        for (kind, phase, dtype, flop, moved, shape), count in self.entries.items():
            if phase == OPTIMIZER:
                part = "optimizer"
            elif kind == "attention" or shape in scores:
                part = "attention"
            else:
                part = kind if kind in self._compute else "memory"
            joined[kind, part, dtype, flop, moved] += count
        return tuple(Operators(*key, count=count) for key, count in joined.items())


def _flop(func: Any, args: Any, kwargs: dict[str, Any], out: Any) -> float:
    """Return the arithmetic of an operator as torch counts it; 0 where torch doesn't."""
    formula = flop_registry.get(func._overloadpacket)
    if formula is None:
        return 0.0
    return float(formula(*args, **kwargs, out_val=out))


def _groups(base: str, args: Any) -> int:
    place = 9 if base == "convolution_backward" else 8
    return args[place] if len(args) > place and isinstance(args[place], int) else 1


def _bytes(tensor: torch.Tensor) -> int:
    """Return the bytes that reading a tensor touches: what it repeats is read once."""
    touched = math.prod(size for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride)
    return touched * tensor.element_size()


def _written(base: str, args: Any) -> int:
    """Return the bytes that an operator on lists writes in place: all of its first list, of a fused optimizer also its states."""
    lists = [value for value in args if isinstance(value, SEQUENCES) and value and isinstance(value[0], torch.Tensor)]
    written = [lists[0], *lists[2:4]] if base.startswith("_fused_") else lists[:1]
    return sum(_bytes(one) for group in written for one in group)
