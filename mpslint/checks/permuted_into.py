"""Tensors whose dimensions were only swapped, not copied, when a module gets them."""

from __future__ import annotations

import ast
import fnmatch
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.facts.values import Argument, Instance, alternatives_of
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.tensors.traits import GRAPH, is_true, joined_trait

SWAPS = ("permute", "transpose", "swapaxes", "swapdims", "movedim", "moveaxis")
"""Methods that give another view of the same memory."""
GATE = Gate(words=SWAPS)


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the inputs of modules that are such views.

    Options: `modules`, patterns of the modules' qualified names; `functions`, names of functions beside them; `graph`, only inputs that
    carry one.
    """
    functions = options.get("functions", ())
    for call in evidence.facts.calls:
        module = call.name.removesuffix(".__call__")
        is_module = module != call.name and any(fnmatch.fnmatchcase(module, glob) for glob in options["modules"])
        if not call.arguments or not (is_module or call.name in functions):
            continue
        argument = call.arguments[0]
        if (
            argument.node is not None
            and _is_swapped(argument)
            and (not options.get("graph") or is_true(joined_trait(argument.value, GRAPH)))
        ):
            values = {"written": ast.unparse(argument.node), "module": module.rsplit(".", 1)[-1]}
            yield Match(evidence.span_of(argument.node), values, None, call, None, call.context, (), argument.node)


def _is_swapped(argument: Argument) -> bool:
    """Return whether an argument is certainly the result of a swap."""
    values = alternatives_of(argument.value)
    if all(isinstance(value, Instance) for value in values):
        return all(isinstance(value, Instance) and value.call is not None and value.call.method in SWAPS for value in values)
    node = argument.node
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SWAPS
