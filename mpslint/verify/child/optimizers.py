"""The optimizers that foreign code makes: where, and which weights get gradients that none of them takes."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import torch


class Optimizers:
    """All optimizers of a run that are alive, with the user's line that made each."""

    def __init__(self, user_line: Callable[[], str]) -> None:
        self.lines: WeakKeyDictionary[torch.optim.Optimizer, str] = WeakKeyDictionary()
        init: Any = torch.optim.Optimizer.__init__

        @functools.wraps(init)
        def noted(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            init(optimizer, *args, **kwargs)
            self.lines[optimizer] = user_line()

        torch.optim.Optimizer.__init__ = noted  # type: ignore[method-assign, assignment]

    def line_of(self, optimizer: torch.optim.Optimizer | None) -> str:
        """Return the line that made an optimizer; '' where that isn't known."""
        return self.lines.get(optimizer, "") if optimizer is not None else ""

    def without(self) -> tuple[str, str]:
        """Return which model gets gradients that no optimizer takes, in words, and the line of the optimizer that looks like its own.

        A model of which some weights are in an optimizer is fine-tuned in part, on purpose; one that was moved away has others, of the
        same sizes.
        """
        taken: set[int] = set()
        sizes: set[torch.Size] = set()
        line = ""
        for optimizer, made in self.lines.items():
            own = {id(weight) for group in optimizer.param_groups for weight in group["params"]}
            line = made if own & taken or not line else line
            taken |= own
            sizes |= {weight.shape for group in optimizer.param_groups for weight in group["params"]}
        modules = [one for one in gc.get_objects() if issubclass(type(one), torch.nn.Module)]  # isinstance() runs code of deprecated names
        inner = {id(child) for one in modules for child in one.children()}
        for one in modules:
            weights = [weight for weight in one.parameters() if weight.requires_grad and weight.grad is not None]
            if all(weight.shape in sizes for weight in weights):
                continue
            if weights and taken and id(one) not in inner and not any(id(weight) in taken for weight in weights):
                count = f"{len(weights)} weight tensor{'s' if len(weights) > 1 else ''}"
                return f"{count} of {type(one).__name__} get gradients that no optimizer takes", line
        return "", ""
