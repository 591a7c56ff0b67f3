"""The predicates that `cases:` of rules/platform/operators.yaml names: what a kernel refuses,
told from the call's shapes and dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Predicate = Callable[[tuple[Any, ...], list[torch.Tensor]], bool]
RARE = frozenset({torch.float64, torch.complex128, torch.bfloat16})
"""Dtypes that MPS has not in every version, whatever the operator."""


def always(args: tuple[Any, ...], made: list[torch.Tensor]) -> bool:
    """Every call of the operator."""
    return True


def makes(dtype: torch.dtype) -> Predicate:
    """Return the predicate of calls that make a tensor of a dtype."""
    return lambda args, made: any(tensor.dtype is dtype for tensor in made)


def pools_unevenly(args: tuple[Any, ...], made: list[torch.Tensor]) -> bool:
    """Adaptive pooling to sizes that do not divide the input's."""
    wanted = [args[1]] if isinstance(args[1], int) else list(args[1])
    given = list(args[0].shape[-len(wanted) :])
    return any(size % target and target % size for size, target in zip(given, wanted, strict=False))


def lstm_projects(args: tuple[Any, ...], made: list[torch.Tensor]) -> bool:
    """nn.LSTM with proj_size: the hidden and the cell state differ in width."""
    hidden = args[1]
    return bool(hidden[0].shape[-1] != hidden[1].shape[-1])


def lstm_drops_out(args: tuple[Any, ...], made: list[torch.Tensor]) -> bool:
    """nn.LSTM with several layers and dropout, in training."""
    layers, dropout, training = args[4], args[5], args[6]
    return layers > 1 and dropout > 0 and bool(training)


def convolves_to_many_channels(args: tuple[Any, ...], made: list[torch.Tensor]) -> bool:
    """A convolution with more than 65536 output channels."""
    return bool(made[0].dim() > 2 and made[0].shape[1] > 65536)


def transposes_3d_in_half(args: tuple[Any, ...], made: list[torch.Tensor]) -> bool:
    """A transposed 3-D convolution in half precision."""
    return bool(args[6]) and args[0].dim() == 5 and args[0].dtype in (torch.float16, torch.bfloat16)


def makes_over_4_gib(args: tuple[Any, ...], made: list[torch.Tensor]) -> bool:
    """One tensor of more than 2^32 bytes."""
    return any(tensor.numel() * tensor.element_size() > 2**32 for tensor in made)


def multiplies_the_worst_rows(args: tuple[Any, ...], made: list[torch.Tensor]) -> bool:
    """A weight gradient over 32,767 or 32,768 rows, both sides at least 16 wide."""
    return multiplies_many_rows(args, made) and bool(args[0].shape[1] <= 32768)


def multiplies_many_rows(args: tuple[Any, ...], made: list[torch.Tensor]) -> bool:
    """A weight gradient over 32,767 rows or more, both sides at least 16 wide."""
    left, right = args[0], args[1]
    return bool(left.shape[1] >= 32767 and left.shape[0] >= 16 and right.shape[1] >= 16)


PREDICATES: dict[str, Predicate] = {
    check.__name__: check
    for check in (
        always, pools_unevenly, lstm_projects, lstm_drops_out, convolves_to_many_channels, transposes_3d_in_half, makes_over_4_gib,
        multiplies_many_rows, multiplies_the_worst_rows,
    )
} | {f"makes_{dtype}".replace("torch.", ""): makes(dtype) for dtype in RARE}  # fmt: skip
