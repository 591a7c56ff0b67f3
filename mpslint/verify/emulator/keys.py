"""Compiled graphs: MPS keeps one for every operator, set of shapes, dtypes and integer arguments it has ever seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

Call = tuple[Any, tuple[int, ...]]
"""An operator call as the graph cache sees it: what is fixed about it,
and its integers (shapes and integer arguments)."""


def describe(name: str, args: Iterable[Any], kwargs: dict[str, Any]) -> Call:
    """Return a call's fixed part and its integers. Floats are dropped: AdamW's step size changes,
    and is no key on MPS."""
    integers: list[int] = []
    fixed = (name, *(_describe(value, integers) for value in args))
    if kwargs:
        fixed += tuple((key, _describe(value, integers)) for key, value in kwargs.items() if key != "device")
    return fixed, tuple(integers)


def _describe(value: Any, integers: list[int]) -> Any:
    if isinstance(value, torch.Tensor):
        shape = value.shape
        integers.extend(shape)
        return (len(shape), value.dtype)
    if value is None or isinstance(value, (bool, str, torch.dtype)):
        return value
    if isinstance(value, int):
        integers.append(value)
        return int
    if isinstance(value, float):
        return float
    if isinstance(value, (list, tuple)):
        return tuple(_describe(item, integers) for item in value)
    return str(type(value))


@dataclass(slots=True)
class GraphCache:
    """The distinct keys seen so far: of all operators, and of those that keep a compiled graph in the Target's
    torch."""

    operators: frozenset[str]
    all_keys: set[Call] = field(default_factory=set)
    graph_keys: set[Call] = field(default_factory=set)
    _rules: dict[Any, str] = field(default_factory=dict)

    def rule(self, name: str) -> str:
        """Return when an operator keeps a graph: always, cast, scalar, tensor, binary or never."""
        rule = self._rules.get(name)
        if rule is None:
            base = name.split(".")[0]
            kinds = [kind for kind in ("cast", "scalar", "tensor") if f"{base}:{kind}" in self.operators]
            rule = "always" if base in self.operators else "binary" if len(kinds) == 2 else (kinds or ["never"])[0]
            self._rules[name] = rule
        return rule

    def is_graph(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Return whether this call compiles a graph in the Target's torch."""
        rule = self.rule(name)
        if rule in ("always", "never", "binary"):
            return rule != "never"
        if rule == "cast":
            source = args[1] if name.startswith("copy_") and len(args) > 1 else args[0]
            wanted = args[0].dtype if name.startswith("copy_") else kwargs.get("dtype")
            return wanted is not None and isinstance(source, torch.Tensor) and wanted != source.dtype
        second = args[1] if len(args) > 1 else None
        is_scalar = not isinstance(second, torch.Tensor) or second.dim() == 0
        return is_scalar is (rule == "scalar")

    def see(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """Count a call; return its key."""
        key = describe(name, args, kwargs)
        if key not in self.all_keys:
            self.all_keys.add(key)
            if self.is_graph(name, args, kwargs):
                self.graph_keys.add(key)
        return key
