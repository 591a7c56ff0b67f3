"""Tensors whose dimensions were only swapped, not copied, when a module gets them."""

from __future__ import annotations

import ast
import fnmatch
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._tensor_given import is_swapped
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.tensors.traits import GRAPH, is_true, joined_trait


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
            and is_swapped(argument)
            and (not options.get("graph") or is_true(joined_trait(argument.value, GRAPH)))
        ):
            values = {"written": ast.unparse(argument.node), "module": module.rsplit(".", 1)[-1]}
            yield Match(evidence.span_of(argument.node), values, None, call, None, call.context, (), argument.node)
