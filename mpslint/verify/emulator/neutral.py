"""Answers where a value is needed that an emulated tensor does not carry: neutral numbers,
and the largest possible shapes."""

from __future__ import annotations

from typing import Any

import torch

from mpslint.core.knowledge import platform_data

aten = torch.ops.aten
DATA_DEPENDENT = frozenset(platform_data("emulated")["shaped_by_values"])
NEUTRAL = DATA_DEPENDENT | set(platform_data("emulated")["neutral"])


def neutral_number(dtype: torch.dtype) -> float | int | bool:
    """Return False, 1 or 0.0: a 0.0 is what a GradScaler reads as "no infinity found", a False what a mask reads as "padded"."""
    if dtype is torch.bool:
        return False
    return 0.0 if dtype.is_floating_point or dtype.is_complex else 1


def answer(name: str, args: tuple[Any, ...]) -> Any:
    """Return what an operator on meta tensors gives, NotImplemented when it can be run as it is."""
    if name == "_local_scalar_dense":
        return neutral_number(args[0].dtype)
    if name in ("equal", "is_nonzero"):
        return False
    if name.startswith("_ctc_loss_backward"):
        return torch.empty_like(args[1])
    if name.startswith("_ctc_loss"):
        return _ctc(args[0], args[1])
    if name in DATA_DEPENDENT:
        return _largest(name, args)
    return NotImplemented


def to_host(tensor: torch.Tensor, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Return a CPU tensor of neutral numbers in the shape of a device tensor."""
    dtype = dtype or tensor.dtype
    return torch.full(tuple(tensor.shape), neutral_number(dtype), dtype=dtype, device="cpu")


def _ctc(log_probabilities: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the loss of each sample, and the table of alphas that its backward needs; torch has no such kernel for meta tensors."""
    steps, batch = log_probabilities.shape[0], log_probabilities.shape[1]
    longest = targets.shape[1] if targets.dim() == 2 else -(-targets.shape[0] // batch)
    loss = log_probabilities.new_empty((batch,))
    return loss, log_probabilities.new_empty((batch, steps, 2 * longest + 1))


def _largest(name: str, args: tuple[Any, ...]) -> Any:
    source = args[0]
    if name == "nonzero":
        return torch.empty((source.numel(), source.dim()), dtype=torch.int64, device=source.device)
    if name == "masked_select":
        shape = torch.broadcast_shapes(source.shape, args[1].shape)
        return torch.empty((torch.Size(shape).numel(),), dtype=source.dtype, device=source.device)
    if name in ("_unique2", "_unique", "unique_consecutive", "unique_dim"):
        return _largest_unique(name, source, args)
    if name == "repeat_interleave.Tensor":
        return torch.empty((source.numel(),), dtype=torch.int64, device=source.device)
    if name == "bincount":
        return torch.empty((max(int(args[2]) if len(args) > 2 else 1, 1),), dtype=torch.int64, device=source.device)
    return _index(source, args[1])


def _largest_unique(name: str, source: torch.Tensor, args: tuple[Any, ...]) -> tuple[torch.Tensor, ...]:
    whole = args[1] if name == "unique_dim" else None
    values = torch.empty_like(source) if whole is not None else torch.empty((source.numel(),), dtype=source.dtype, device=source.device)
    count = source.shape[whole] if whole is not None else source.numel()
    inverse = torch.empty((count,) if whole is not None else tuple(source.shape), dtype=torch.int64, device=source.device)
    counts = torch.empty((count,), dtype=torch.int64, device=source.device)
    return (values, inverse) if name == "_unique" else (values, inverse, counts)


def _index(source: torch.Tensor, indices: Any) -> Any:
    """Return `source[indices]` with each boolean mask taken as all true; NotImplemented when there is no mask."""
    masks = [index for index in indices if index is not None and index.dtype in (torch.bool, torch.uint8)]
    if not masks:
        return NotImplemented
    plain: list[Any] = []
    for index in indices:
        if index is None or index.dtype not in (torch.bool, torch.uint8):
            plain.append(index)
        else:
            plain += [torch.empty((index.numel(),), dtype=torch.int64, device=source.device) for _ in range(index.dim())]
    return aten.index.Tensor(source, plain)
