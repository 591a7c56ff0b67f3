"""Whether gradients are reset between the steps of an optimizer: what is never reset adds up, and each step takes all before it again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

LARGEST = 2**20
"""Elements of the weight that is looked at, at most: one of them shows it."""
EQUAL = {torch.float32: 1e-3, torch.float64: 1e-6}
"""How far two gradients may be apart, of their norm, that are the same but for rounding; 0.02 in half precision."""
SURELY = 10
"""How many times as far they are apart where they surely aren't the same."""
FEWEST = 2
"""Steps that have to take the gradients of steps before them."""


class Carried:
    """Follows one weight of each optimizer, from step to step."""

    def __init__(self, user_line: Callable[[], str]) -> None:
        self.user_line = user_line
        self.line = ""
        """Where an optimizer steps whose gradients are never reset."""
        self._followed: WeakKeyDictionary[torch.optim.Optimizer, _Weight] = WeakKeyDictionary()
        register_optimizer_step_pre_hook(self._before)
        register_optimizer_step_post_hook(self._after)

    def _before(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if (followed := self._followed.get(optimizer)) is not None:
            with torch._C.DisableTorchFunction():
                followed.count()
            self.line = self.line or (self.user_line() if followed.carried >= FEWEST else "")

    def _after(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if optimizer not in self._followed:
            weights = [weight for group in optimizer.param_groups for weight in group["params"] if _is_plain(weight.grad)]
            if not weights:
                return
            self._followed[optimizer] = _Weight(max(weights, key=torch.Tensor.numel))
        self._followed[optimizer].stepped()


class _Weight:
    """A weight: what a step leaves in its gradient, and what backward passes add to it since."""

    def __init__(self, weight: torch.Tensor) -> None:
        self.weight = weight
        self.carried = 0
        """In how many more steps the gradient still held that of the step before than in how many it didn't."""
        self.left: torch.Tensor | None = None
        self.added: torch.Tensor | None = None
        weight.register_hook(self._add)

    def _add(self, gradient: torch.Tensor) -> None:
        with torch._C.DisableTorchFunction():
            self.added = gradient.detach().clone() if self.added is None else self.added + gradient.detach()

    def stepped(self) -> None:
        """Take note of what a step leaves in the gradient."""
        gradient = self.weight.grad
        self.left, self.added = (gradient.detach().clone() if gradient is not None else None), None

    def count(self) -> None:
        """Count whether the gradient that a step is to take is what the last step left and all that was added since. Clipping and scaling
        keep its direction."""
        if self.added is None or self.weight.grad is None:
            return
        left = torch.zeros_like(self.added) if self.left is None else self.left
        taken, added, both = (one.detach().cpu().double().flatten() for one in (self.weight.grad, self.added, left + self.added))
        least = torch.linalg.vector_norm(taken) * EQUAL.get(self.weight.dtype, 0.02)
        apart = [[torch.linalg.vector_norm(taken - one * share(one, taken)) for one in (both, added)] for share in (lambda *_: 1.0, _share)]
        if any(of_both <= least < of_added / SURELY for of_both, of_added in apart):
            self.carried += 1
        elif apart[-1][0] > least or self.left is None:
            self.carried -= 1


def _share(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return by what a gradient is multiplied to be as near to another as it can."""
    return torch.dot(one, other) / torch.dot(one, one).clamp_min(1e-300)


def _is_plain(gradient: torch.Tensor | None) -> bool:
    """Return whether a gradient has values that can be kept."""
    return gradient is not None and gradient.layout is torch.strided and not gradient.is_meta and 0 < gradient.numel() <= LARGEST
