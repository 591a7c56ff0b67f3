"""Where the values of a run first stop being finite: in which operation of the forward pass, or of the backward pass."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, NamedTuple

import torch
from torch.nn.parameter import is_lazy
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
