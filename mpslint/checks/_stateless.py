"""Modules without weights and buffers, such as most losses: moving one touches no tensor, so it can't raise."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mpslint.core.knowledge import platform_data
from mpslint.facts.values import Class, Function, Instance, Items, Known, Symbol, Value
from mpslint.program.walk import walk

MODULES = "torch.nn."
BASES = ("torch.nn.Module", "builtins.object")
DEEPEST = 4


def is_stateless(value: Value | None, depth: int = DEEPEST) -> bool:
    """Return whether an object is a module that holds no tensor for sure: of torch.nn, or of a class of the program with only such parts.

    Source: the list of `rules/platform/layers.yaml`; `Module._apply` goes through parameters, buffers and submodules only.
    """
    if not isinstance(value, Instance) or depth <= 0:
        return False
    if value.cls is not None:
        return _is_stateless_class(value.cls) and all(_is_plain(one, depth) for one in value.written_slots().values())
    layers, call = platform_data("layers"), value.call
    if call is None or call.is_open or value.owner is not None or value.written_slots() or not _is_of_no_weights(value.name):
        return False
    is_given = bool(call.arguments) and value.name.removeprefix(MODULES) in layers["take_weights"]
    return not is_given and not set(layers["arguments_for_weights"]) & call.keywords.keys()


def _is_of_no_weights(name: str) -> bool:
    """Return whether a class of torch.nn has no weights by itself, and holds no other modules."""
    layers, kind = platform_data("layers"), name.removeprefix(MODULES)
    holders = (*layers["hold_weights"], *layers["contain"], *layers["hold_given"])
    return name.startswith(MODULES) and "." not in kind and kind not in holders


def _is_stateless_class(cls: Class) -> bool:
    """Return whether no class of the program that an object is of makes a parameter or a buffer by itself."""
    bases = cls.outside_bases()
    is_module = bool(bases) and all(base in BASES or (base.startswith(MODULES) and _is_own_loss(base)) for base in bases)
    return is_module and not cls.decorators and not any(_makes_tensors(one) for one in _nodes(cls))


def _is_own_loss(base: str) -> bool:
    """Return whether a class of torch.nn is one to derive from without weights, given or not."""
    return _is_of_no_weights(base) and base.removeprefix(MODULES) not in platform_data("layers")["take_weights"]


def _nodes(cls: Class) -> Iterable[ast.AST]:
    return (node for one in cls.lineage() for node in walk(one.node))


def _makes_tensors(node: ast.AST) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name in platform_data("layers")["makers_of_weights"]


def _is_plain(value: Value, depth: int) -> bool:
    """Return whether an attribute is no module with weights."""
    if isinstance(value, Items):
        return not value.open and all(_is_plain(one, depth - 1) for one in value.values())
    return isinstance(value, (Known, Symbol, Function)) or is_stateless(value, depth - 1)
