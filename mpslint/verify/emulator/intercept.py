"""Operators between the emulated device and the CPU: copies out of it, values asked of it,
and mixtures that MPS refuses."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import torch

from mpslint.core.knowledge import platform_data

MIXES = tuple(platform_data("emulated")["mixes"])
SMALL = 64


class Interceptor:
    """Looks at each operator of the whole process before it runs, and answers those that cross between the devices."""

    def __init__(self, asked: Callable[[], None]) -> None:
        self.asked = asked
        self.host = 0
        self._has_ctc = False

    def before(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the answer to a crossing, NotImplemented for all else. Raises what MPS raises for tensors on two devices."""
        first = args[0] if args and isinstance(args[0], torch.Tensor) else None
        if name == "_local_scalar_dense" and first is not None and first.is_meta:
            self.asked()
            return NotImplemented
        if name == "_to_copy" and first is not None and first.is_meta and torch.device(kwargs.get("device") or "meta").type == "cpu":
            copy = to_host(first, kwargs.get("dtype"))
            self.hosted(first, copy)
            return copy
        if name == "copy_" and first is not None and not first.is_meta and isinstance(args[1], torch.Tensor) and args[1].is_meta:
            return first
        if name == "_amp_foreach_non_finite_check_and_unscale_":
            return None
        if name == "_amp_update_scale_":
            return first
        if name.startswith("_ctc_loss"):
            self._has_ctc = True
        if name == "div.Tensor" and self._has_ctc and first is not None and first.is_meta and _is_lengths(args[1]):
            return torch.empty_like(first)
        if not name.startswith(MIXES):
            self._refuse_mixture(name, args)
        return NotImplemented

    def hosted(self, source: torch.Tensor, copy: torch.Tensor) -> None:
        """Count what the process keeps of copies out of the device."""
        size = source.numel() * source.element_size()
        if size < SMALL or copy.is_meta:
            return
        self.host += size
        weakref.finalize(copy, self._forget, size)

    def _forget(self, size: int) -> None:
        self.host -= size

    def _refuse_mixture(self, name: str, args: tuple[Any, ...]) -> None:
        has_device, other = False, None
        for value in args:
            for tensor in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(tensor, torch.Tensor):
                    if tensor.is_meta:
                        has_device = True
                    elif tensor.dim() and tensor.device.type == "cpu":
                        other = tensor
        if has_device and other is not None:
            said = f"Placeholder storage has not been allocated on MPS device! (aten::{name} gets tensors on mps:0 and on the CPU)"
            raise as_on_mps(RuntimeError(said))


def _is_lengths(value: Any) -> bool:
    """Return whether a divisor is the target lengths of ctc_loss: it takes them from the CPU, and under a mode divides by them itself."""
    return isinstance(value, torch.Tensor) and value.device.type == "cpu" and not value.is_floating_point() and value.dim() == 1


MARK = "is_raised_on_mps"
Raised = TypeVar("Raised", bound=BaseException)


def as_on_mps(error: Raised) -> Raised:
    """Return an exception marked as one that MPS raises at this place."""
    setattr(error, MARK, True)
    return error


def is_raised_on_mps(error: BaseException) -> bool:
    """Return whether a Mac raises an exception too: it, or what it was raised from, is marked as such or says what torch says there."""
    known = [re.compile(pattern) for pattern in platform_data("raised")["on_mps"]]
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        if getattr(current, MARK, False) or any(pattern.search(str(current)) for pattern in known):
            return True
        current = current.__cause__ or current.__context__
    return False


def without_addresses(message: str) -> str:
    """Return a message without where in this process an object lies."""
    return re.sub(r" at 0x[0-9a-fA-F]+\b", "", message)


def in_the_words_of_mps(message: str) -> str:
    """Return a message of torch about the device that stands for MPS as torch words it on a Mac."""
    message = without_addresses(message)
    return re.sub(r"\bmeta\b(?=( \w+)? [Tt]ensor| device)|(?<=tensor at )meta\b", "mps:0", message)


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
