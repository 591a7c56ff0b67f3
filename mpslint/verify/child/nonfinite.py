"""What is wrong with the values of a run: in which operation they first stop being finite, and gradients that no step resets."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch.nn.parameter import is_lazy
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils.weak import WeakIdKeyDictionary

from mpslint.verify.child.optimizers import name_of
from mpslint.verify.emulator.remembered import tensors_in

LINE = "mpslint"
"""Under what name a node of the graph keeps the user's line that made it."""


class Origin(NamedTuple):
    """What made values that aren't finite, in words, and the user's line of it; empty where the code means them, as a mask does."""

    said: str = ""
    line: str = ""


class Origins:
    """Follows values that aren't finite through the operations of a run."""

    def __init__(self, user_line: Callable[[], str]) -> None:
        self.user_line = user_line
        self.found = Origin()
        """Where the first loss or gradient that isn't finite comes from."""
        self.is_tracing = False
        """Whether the backward pass is looked at, too."""
        self._known: MutableMapping[Any, Origin] = WeakIdKeyDictionary()

    def see(self, name: str, args: Any, kwargs: Any, out: Any) -> None:
        """Look at what an operation made, or changed."""
        for tensor in tensors_in((out,) if out is not None else args[:1]):
            if is_finite(tensor):
                if self._known:
                    self._known.pop(tensor, None)
            elif tensor not in self._known and (origin := self._origin(name, (*args, *kwargs.values()), tensor)) is not None:
                self._known[tensor] = origin
            node: Any = tensor.grad_fn if self.is_tracing else None  # asking alone raises for some views
            if node is not None:
                node.metadata[LINE] = self.user_line()

    def _origin(self, name: str, given: Any, made: torch.Tensor) -> Origin | None:
        """Return where an operation's values come from that aren't finite; None for those that are given as data."""
        operands = [tensor for tensor in tensors_in(given) if tensor is not made]
        wrong = [tensor for tensor in operands if not is_finite(tensor)]
        told = [self._known.get(tensor) for tensor in wrong]
        if (first := next((one for one in told if one is not None and one.said), None)) is not None:
            return first
        what = "nan" if made.isnan().any() else "inf"
        dtype = str((operands or [made])[0].dtype).removeprefix("torch.")
        if None in told:
            source = wrong[told.index(None)]
            holder = f"weight {name_of(source)}" if isinstance(source, torch.nn.Parameter) else "batch"
            return Origin(f"the {holder} ({dtype}) holds {what} already", self.user_line())
        if what == "inf" and (told or any(isinstance(value, float) and not math.isfinite(value) for value in given)):
            return Origin()
        of = "operands with inf" if told else "finite operands"
        return Origin(f"`{name.strip('_')}` makes {what} of {of} ({dtype})", self.user_line()) if operands else None

    def of_loss(self, loss: torch.Tensor) -> None:
        """Take note of a loss that backward() is called on."""
        self.found = self.found if self.found.said else self._known.get(loss, Origin())
        for node, line in nodes_of(loss.grad_fn) if self.is_tracing else ():
            node.register_hook(functools.partial(self._flowed, node.name(), line))

    def _flowed(self, name: str, line: str, made: Any, given: Any) -> None:
        """Look at the gradients that a node of the graph was given, and at those that it made of them."""
        if not self.found.said and not all(map(is_finite, tensors_in(made))) and all(map(is_finite, tensors_in(given))):
            operator = name.partition("Backward")[0].lower()
            self.found = Origin(f"the backward pass of `{operator}` makes nan or inf of a finite gradient", line)


def is_finite(tensor: torch.Tensor) -> bool:
    """Return whether all values of a tensor are finite; one without values or of whole numbers is, and a weight that has no shape yet."""
    if is_lazy(tensor) or not tensor.dtype.is_floating_point or tensor.is_meta or not tensor.numel() or tensor.layout is not torch.strided:
        return True
    return math.isfinite(float(torch.linalg.vector_norm(tensor.detach(), math.inf)))


def nodes_of(last: Any) -> Iterator[tuple[Any, str]]:
    """Yield the nodes of a graph, each with the user's line that made it, or that made what comes after it."""
    ahead, seen = [(last, "")], set()
    while ahead:
        node, line = ahead.pop()
        if node is not None and node not in seen:
            seen.add(node)
            line = node.metadata.get(LINE, line)
            yield node, line
            ahead += [(one, line) for one, _ in node.next_functions]


LARGEST = 2**20
"""Elements of the weight that is looked at, at most: one of them shows it."""
EQUAL = {torch.float32: 1e-3, torch.float64: 1e-6}
"""How far two gradients may be apart, of their norm, that are the same but for rounding; 0.02 in half precision."""
SURELY = 10
"""How many times as far they are apart where they surely aren't the same."""
FEWEST = 2
"""Steps that have to take the gradients of steps before them."""


class Resets:
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
        with torch._C.DisableTorchFunction():  # a stand-in for MPS says of itself that it has values
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
