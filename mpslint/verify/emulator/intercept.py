"""Operators between the emulated device and the CPU: copies out of it, values asked of it,
and mixtures that MPS refuses."""

from __future__ import annotations

import re
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

import torch

from mpslint.core.knowledge import platform_data
from mpslint.verify.emulator.neutral import to_host

MIXES = tuple(platform_data("emulated")["mixes"])
SMALL = 64


class Interceptor:
    """Looks at each operator of the whole process before it runs, and answers those that cross between the devices."""

    def __init__(self, asked: Callable[[], None]) -> None:
        self.asked = asked
        self.asked_lines: Counter[str] = Counter()
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
