"""The mode that sees every operator of a run, forward, backward and optimizer, and tells memory,
keys and coverage about it."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from mpslint.verify.emulator.accumulate import ADD, adds_in_place, in_backward, last_reference
from mpslint.verify.emulator.intercept import DATA_DEPENDENT, NEUTRAL, answer
from mpslint.verify.emulator.keys import GraphCache
from mpslint.verify.emulator.memory import LiveMemory
from mpslint.verify.emulator.meter import Meter
from mpslint.verify.emulator.remembered import Remembered

Seen = Callable[[str, tuple[Any, ...], dict[str, Any], list[torch.Tensor]], None]
Before = Callable[[str, tuple[Any, ...], dict[str, Any]], Any]


def op_name(func: Any) -> str:
    """Return `_to_copy` or `add.Tensor` for an operator overload."""
    name: str = func._schema.name.partition("::")[2]
    return name if func._overloadname == "default" else f"{name}.{func._overloadname}"


def is_view(func: Any) -> bool:
    """Return whether an operator only looks at its input in another way, or makes memory without a value: no kernel runs."""
    returned = func._schema.returns
    alias = returned[0].alias_info if returned else None
    return (alias is not None and not alias.is_write) or func._schema.name in ("aten::empty", "aten::empty_like", "aten::_unsafe_view")


@functools.cache
def is_composite(func: Any) -> bool:
    """Return whether an operator is made of others.

    Autograd takes it apart before a mode sees it. In inference mode, which leaves autograd out, a mode gets it whole: `item`, `linear`.
    """
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"))


class Watch(TorchDispatchMode):
    """Counts what every operator makes on the watched device."""

    def __init__(self, memory: LiveMemory, keys: GraphCache, seen: Seen | None = None, *, before: Before | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.memory, self.keys, self.seen, self.before = memory, keys, seen, before
        self.meter: Meter | None = None
        """Counts the work of each operator, where somebody asks for it."""
        self.data_dependent: Counter[str] = Counter()
        self.last_reference = last_reference()
        self.remembered = Remembered()
        self._names: dict[Any, str] = {}
        self._views: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if torch.is_inference_mode_enabled() and is_composite(func):
            with self:  # not `decompose`, which takes Python's copies of GRU and LSTM where there are any
                return func._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, *args, **kwargs)
        name = self._names.get(func)
        if name is None:
            name = self._names[func] = op_name(func)
            if is_view(func):
                self._views.add(name)
        out = self.answer(name, func, args, kwargs)
        if self.meter is not None and self.meter.weight and name not in self._views and self.touches_any(args, out):
            self.meter.see(func, name, args, kwargs, out)
        made = [item for item in (out if isinstance(out, (list, tuple)) else (out,)) if isinstance(item, torch.Tensor)]
        made = [tensor for tensor in made if tensor.is_meta]
        if not made:
            return out
        for tensor in made:
            self.memory.see(tensor, name)
        if name not in self._views:
            key = self.keys.see(name, args, kwargs, made)
            if self.memory.log is not None:
                self.memory.log.called(key)
        if self.seen is not None:
            self.seen(name, args, kwargs, made)
        return out

    def answer(self, name: str, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Return what the operator returns, a neutral value where a real one would be needed."""
        if self.before is not None:
            out = self.before(name, args, kwargs)
            if out is not NotImplemented:
                return out
        if name in NEUTRAL and self.touches(args):
            out = answer(name, args)
            if out is not NotImplemented:
                if name in DATA_DEPENDENT:
                    self.data_dependent[name] += 1
                return out
        if name == ADD and in_backward() and adds_in_place(args, kwargs, self.last_reference):
            return torch.ops.aten.add_.Tensor(*args)
        return self.remembered.call(func, args, kwargs)

    def touches(self, args: Any) -> bool:
        """Return whether the first tensor of a call lies on the watched device."""
        first = next((value for value in args if isinstance(value, torch.Tensor)), None)
        return first is not None and first.is_meta

    def touches_any(self, args: Any, out: Any) -> bool:
        """Return whether an operator reads or makes a tensor on the watched device, alone or in a list."""
        values = (*args, *(out if isinstance(out, (list, tuple)) else (out,)))
        firsts = (value[0] if isinstance(value, (list, tuple)) and value else value for value in values)
        return any(isinstance(value, torch.Tensor) and value.is_meta for value in firsts)
