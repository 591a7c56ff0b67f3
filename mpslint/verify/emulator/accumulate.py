"""Autograd adds up gradients in place where it holds the last reference; under a mode it does not,
so that is put right here."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

ADD = "add.Tensor"


def references(tensor: torch.Tensor) -> tuple[int, int]:
    """Return how many references there are to a tensor and to its storage."""
    return tensor._use_count(), torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)  # type: ignore[attr-defined]


class _Probe(TorchDispatchMode):
    """Notes the references to a gradient that nobody else holds, as this torch counts them."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found = (0, 0)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten.add.Tensor and in_backward():
            self.found = _count(args)
        return func(*args, **(kwargs or {}))


def _count(args: Any) -> tuple[int, int]:
    return references(args[0])


@functools.lru_cache(maxsize=1)
def last_reference() -> tuple[int, int]:
    """Return the counts of a gradient to which autograd holds the last reference."""
    weight = torch.ones(8, device="meta", requires_grad=True)
    with _Probe() as probe, torch.enable_grad():
        twice = weight * 2
        ((twice * 3).exp() + (twice * 4).exp()).sum().backward()
    found: tuple[int, int] = probe.found
    return found


def in_backward() -> bool:
    """Return whether a backward pass is under way, and not one that is itself differentiated."""
    return bool(torch._C._current_graph_task_id() != -1) and not torch.is_grad_enabled()


def adds_in_place(args: tuple[Any, ...], kwargs: dict[str, Any], last: tuple[int, int]) -> bool:
    """Return whether autograd, without a mode, would add `args[1]` to `args[0]` in place."""
    if kwargs or len(args) != 2 or not all(isinstance(value, torch.Tensor) for value in args):
        return False
    old, new = args
    if old.shape != new.shape or old.dtype != new.dtype or not old.dim() or not torch.ops.aten.is_non_overlapping_and_dense(old):
        return False
    held, stored = _count(args)
    return held <= last[0] and stored <= last[1]
