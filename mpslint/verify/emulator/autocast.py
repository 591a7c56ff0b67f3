"""Autocast for tensors without values, which torch's own passes by: the same casts, made where Python code calls an operator."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from mpslint.core.knowledge import platform_data

CastsAs = Literal["mps", "cpu"]
"""Whose lists autocast follows: MPS's, or the CPU's where the emulator is compared with real runs there."""


class Autocast(TorchFunctionMode):
    """Casts what operators are given, as autocast to `half` does; weights are cast once while it is on."""

    def __init__(self, half: torch.dtype, casts_as: CastsAs = "mps") -> None:
        super().__init__()
        table = platform_data("autocast")[casts_as]
        self.half = half
        self._policies = {name: policy for policy in ("half", "float32", "widest") for name in table[policy]}
        self._weights: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def __exit__(self, *error: Any) -> None:
        self._weights.clear()
        super().__exit__(*error)  # type: ignore[no-untyped-call]

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        policy = self._policies.get(getattr(func, "__name__", ""))
        if policy is None:
            return func(*args, **kwargs)
        if policy == "widest":
            wanted = torch.float32 if any(tensor.dtype == torch.float32 for tensor in _floats((args, kwargs))) else self.half
        else:
            wanted = self.half if policy == "half" else torch.float32
        return func(*self._cast(args, wanted), **{name: self._cast(value, wanted) for name, value in kwargs.items()})

    def _cast(self, value: Any, wanted: torch.dtype) -> Any:
        """Return a value with the tensors in it cast, those of float64 and of whole numbers as they are."""
        if isinstance(value, torch.Tensor):
            if value.dtype == wanted or not value.is_floating_point() or value.dtype == torch.float64:
                return value
            if not (value.requires_grad and value.is_leaf and value.dtype == torch.float32 and wanted == self.half):
                return value.to(wanted)
            known = self._weights.get(id(value))
            if known is None:
                known = self._weights[id(value)] = (value, value.to(wanted))
            return known[1]
        if type(value) in (list, tuple):
            return type(value)(self._cast(item, wanted) for item in value)
        return value


def is_casting() -> bool:
    """Return whether an Autocast is on."""
    return any(isinstance(mode, Autocast) for mode in _get_current_function_mode_stack())


def sees_all(model: torch.nn.Module) -> bool:
    """Return whether every operator that autocast casts for is called by the model's Python code, not inside another operator."""
    composed = set(platform_data("autocast")["composed"])
    return not any(type(module).__name__ in composed for module in model.modules())


def _floats(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value] if value.is_floating_point() else []
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for item in value for tensor in _floats(item)] if isinstance(value, (list, tuple)) else []
