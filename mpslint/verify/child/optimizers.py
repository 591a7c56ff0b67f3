"""The optimizers that foreign code makes: where, and which weights get gradients that none of them takes."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.optim.lr_scheduler import LRScheduler
from torch.optim.optimizer import register_optimizer_step_post_hook

from mpslint.verify.child.replaced import replaces

LOOKED_AT = 2
"""The step of each optimizer in which the models are looked at."""


class Optimizers:
    """All optimizers of a run that are alive, with the user's line that made each."""

    def __init__(self, user_line: Callable[[], str]) -> None:
        self.lines: WeakKeyDictionary[torch.optim.Optimizer, str] = WeakKeyDictionary()
        self.steps: WeakKeyDictionary[torch.optim.Optimizer, int] = WeakKeyDictionary()
        self.untaken = ("", "")
        """Which model gets gradients that no optimizer takes, in words, and the line of the optimizer that looks like its own."""
        self.schedulers: WeakKeyDictionary[torch.optim.Optimizer, str] = WeakKeyDictionary()
        """The line that made the last scheduler of each."""

        def noting(kind: Any, note: Callable[[Any, str], None]) -> None:
            @replaces(kind, "__init__")
            def noted(init: Any, made: Any, *args: Any, **kwargs: Any) -> None:
                init(made, *args, **kwargs)
                note(made, user_line())

        noting(torch.optim.Optimizer, self.lines.__setitem__)
        noting(LRScheduler, lambda made, line: self.schedulers.__setitem__(made.optimizer, line))
        register_optimizer_step_post_hook(self._stepped)

    def _stepped(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """Look at the models in a step: after the training they may have been moved, or have other weights."""
        self.steps[optimizer] = self.steps.get(optimizer, 0) + 1
        if self.steps[optimizer] == LOOKED_AT and not self.untaken[0]:
            with torch._C.DisableTorchFunction():
                self.untaken = self._without()

    def line_of(self, optimizer: torch.optim.Optimizer | None, rate: float = -1.0) -> str:
        """Return the line that made an optimizer, or the scheduler that keeps its learning `rate` at 0; '' where that isn't known."""
        if optimizer is None:
            return ""
        is_kept = rate == 0 and any(group.get("initial_lr") for group in optimizer.param_groups)
        return (is_kept and self.schedulers.get(optimizer)) or self.lines.get(optimizer, "")

    def _without(self) -> tuple[str, str]:
        """Return which model gets gradients that no optimizer takes, and the optimizer's line; two empty texts for none.

        A model of which some weights are in an optimizer is fine-tuned in part, on purpose, where its last ones are: those before them are
        taken as they come. A last layer that stays as it was drawn is no part that anybody keeps.
        """
        taken: set[int] = set()
        line = ""
        for optimizer, made in self.lines.items():
            own = {id(weight) for group in optimizer.param_groups for weight in group["params"]}
            line = made if own & taken or not line else line
            taken |= own
        for one in models():
            weights = [weight for weight in one.parameters() if weight.requires_grad and weight.grad is not None]
            left = [weight for weight in weights if id(weight) not in taken]
            if left and left[-1] is weights[-1]:
                count = f"{len(left)} weight tensor{'s' if len(left) > 1 else ''} ({name_of(left[-1])})"
                return f"{count} get{'s' * (len(left) == 1)} gradients that no optimizer takes", line
        return "", ""


def models() -> list[torch.nn.Module]:
    """Return the modules that are alive and in no other module."""
    modules = [one for one in gc.get_objects() if issubclass(type(one), torch.nn.Module)]  # isinstance() runs code of deprecated names
    inner = {id(child) for one in modules for child in one.children()}
    return [one for one in modules if id(one) not in inner]


def name_of(weight: torch.Tensor) -> str:
    """Return what the model that has a weight calls it, with its class; its shape where no model has it."""
    found = (f"{name} of {type(one).__name__}" for one in models() for name, other in one.named_parameters() if other is weight)
    return next(found, f"a weight of shape {'x'.join(map(str, weight.shape))}")
