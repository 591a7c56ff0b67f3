"""Autocast for tensors without values, which torch's own passes by: the same casts, made where Python code calls an operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from mpslint.core.knowledge import platform_data
from mpslint.verify.emulator.remembered import tensors_in


class Casts:
    """What autocast makes of the tensors that operators are given; a weight is cast once until all casts are forgotten."""

    def __init__(self) -> None:
        table = platform_data("autocast")
        self._policies = {name: policy for policy in ("half", "float32", "widest") for name in table["mps"][policy]}
        self._recurrent = frozenset(table["recurrent"])
        self.weights: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self.unsure: set[str] = set()
        """Operators whose casts happen inside them, unseen."""

    def of(self, name: str, half: torch.dtype, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Return what autocast to `half` hands on to the operator of a name."""
        policy = self._policies.get(name)
        if name in self._recurrent:
            self.unsure.add(name)
            wanted = next((tensor.dtype for tensor in _floats(args)), torch.float32)
        elif policy is None:
            return args, kwargs
        elif policy == "widest":
            wanted = torch.float32 if any(tensor.dtype == torch.float32 for tensor in _floats((*args, *kwargs.values()))) else half
        else:
            wanted = half if policy == "half" else torch.float32
        return self._cast(args, wanted), {name: self._cast(value, wanted) for name, value in kwargs.items()}

    def _cast(self, value: Any, wanted: torch.dtype) -> Any:
        """Return a value with the device's tensors in it cast, those of float64 and of whole numbers as they are."""
        if isinstance(value, torch.Tensor):
            if value.dtype == wanted or not value.is_floating_point() or value.dtype == torch.float64 or not value.is_meta:
                return value
            is_weight = value.requires_grad and value.is_leaf and value.dtype == torch.float32 and wanted != torch.float32
            if not (is_weight and torch.is_autocast_cache_enabled()):
                return value.to(wanted)
            known = self.weights.get(id(value))
            if known is None:
                known = self.weights[id(value)] = (value, value.to(wanted))
            return known[1]
        if type(value) in (list, tuple):
            return type(value)(self._cast(item, wanted) for item in value)
        return value


def taken_apart(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Call a function of torch.nn.functional so that modes see each operator that it calls, instead of the whole."""
    module: Any = torch.nn.functional
    asked = module.has_torch_function

    def unseen(tensors: Any) -> bool:
        module.has_torch_function = asked
        return False

    module.has_torch_function = unseen
    return func(*args, **kwargs)


def _floats(values: Any) -> Iterator[torch.Tensor]:
    return (tensor for tensor in tensors_in(values) if tensor.is_floating_point())
