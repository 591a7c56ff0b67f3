"""Compiled graphs: MPS keeps one for every operator, set of shapes, dtypes and integer arguments it has ever seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from mpslint.verify.outcome import Retained
from mpslint.verify.platform import float_keyed_operators, graph_operators, retaining_operators

Call = tuple[Any, tuple[int, ...]]
"""An operator call as the graph cache sees it: what is fixed about it, and its integers (shapes and integer arguments)."""


def describe(name: str, args: Iterable[Any], kwargs: dict[str, Any], *, floats: bool = False) -> Call:
    """Return a call's fixed part and its integers. Floats are dropped unless asked for: AdamW's step size changes, and is no key on MPS."""
    integers: list[int] = []
    fixed = (name, *(_describe(value, integers, floats) for value in args))
    if kwargs:
        fixed += tuple((key, _describe(value, integers, floats)) for key, value in kwargs.items() if key != "device")
    return fixed, tuple(integers)


def _describe(value: Any, integers: list[int], floats: bool) -> Any:
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
        return value if floats else float
    if isinstance(value, (list, tuple)):
        return tuple(_describe(item, integers, floats) for item in value)
    return str(type(value))


@dataclass(slots=True)
class GraphCache:
    """The distinct keys seen so far: of all operators, and of those that keep a compiled graph in the Target's torch."""

    operators: frozenset[str]
    with_floats: frozenset[str] = frozenset()
    """Operators whose float arguments are part of the key."""
    retaining: frozenset[str] = frozenset()
    """Operators whose graphs keep memory; the last integer of their keys is its size."""
    retain: Callable[[int], None] | None = None
    """Takes the bytes that each new graph keeps."""
    all_keys: set[Call] = field(default_factory=set)
    graph_keys: set[Call] = field(default_factory=set)
    compiled: int = 0
    """How many graphs were compiled, those that were dropped in between too."""
    _forgotten: set[Call] = field(default_factory=set)
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

    def see(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], made: Sequence[torch.Tensor] = ()) -> Call:
        """Count a call and what it made; return its key."""
        base = name.partition(".")[0]
        key = describe(name, args, kwargs, floats=base in self.with_floats)
        if base in self.retaining:
            key = (key[0], (*key[1], sum(tensor.numel() * tensor.element_size() for tensor in made)))
        self.add(key, is_graph=key in self.all_keys or self.is_graph(name, args, kwargs))
        return key

    def add(self, key: Call, *, is_graph: bool) -> None:
        """Count a call by its key; `is_graph` says whether it compiles a graph where the key is new."""
        if key not in self.all_keys:
            self.all_keys.add(key)
            if is_graph:
                self._compile(key)
        elif key in self._forgotten:
            self._forgotten.discard(key)
            self._compile(key)

    def is_compiled(self, key: Call) -> bool:
        """Return whether a call that was seen has a graph, or had one that was dropped."""
        return key in self.graph_keys or key in self._forgotten

    def copied(self) -> GraphCache:
        """Return a cache that goes on from what this one has seen, and keeps no memory."""
        seen = set(self.all_keys), set(self.graph_keys), self.compiled, set(self._forgotten)
        return GraphCache(self.operators, self.with_floats, self.retaining, None, *seen)

    def _compile(self, key: Call) -> None:
        self.graph_keys.add(key)
        self.compiled += 1
        if self.retain is not None and key[0][0].partition(".")[0] in self.retaining:
            self.retain(key[1][-1])

    def by_operator(self, keys: Iterable[Call]) -> tuple[Retained, ...]:
        """Return what the graphs of some keys keep, by operator, most first."""
        sizes: dict[str, list[int]] = {}
        for fixed, integers in keys:
            base = fixed[0].partition(".")[0]
            if base in self.retaining:
                sizes.setdefault(base, []).append(integers[-1])
        found = (Retained(name, len(each), sum(each), max(each)) for name, each in sizes.items())
        return tuple(sorted(found, key=lambda one: -one.size))

    def forget_graphs(self) -> None:
        """Drop the compiled graphs, so that the next call of each compiles one again."""
        self._forgotten |= self.graph_keys
        self.graph_keys.clear()


def graph_cache(version: str, retain: Callable[[int], None] | None = None) -> GraphCache:
    """Return the graph cache of one torch, empty."""
    return GraphCache(graph_operators(version), float_keyed_operators(version), retaining_operators(), retain)
