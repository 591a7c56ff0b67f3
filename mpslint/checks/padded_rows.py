"""Rows that have few lengths before any collator sees them: `Dataset.map` pads them by the thousand, or a Trainer's own method to one.

A check because it looks into functions that `map` calls with groups of rows, which the interpreter doesn't run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.facts.values import Call, Known
from mpslint.program.walk import called_name, walk
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.roles import roles_that
from mpslint.settings.sliced import mapped_function

FEW = 256
"""Groups of fewer rows have too many lengths."""
TO_LONGEST = (True, "longest")
TO_LIMIT = "max_length"


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the calls of a tokenizer that pad, in a function that `map` gives large groups of rows to, or in methods of a Trainer.

    Options: `methods`, a regular expression of the names of methods by which a class that derives from a Trainer prepares its rows.
    """
    yield from _of_trainers(evidence, re.compile(options["methods"])) if "methods" in options else ()
    for call in evidence.facts.calls:
        function = mapped_function(call) if call.method == "map" and _in_large_groups(call) else None
        for node in walk(function.node) if function is not None else ():
            if called_name(node).endswith("tokenizer") and isinstance(node, ast.Call) and _padding_of(node) in TO_LONGEST:
                yield Match(evidence.span_of(node), {"written": ast.unparse(node.func)}, context=call.context, node=node)


def _of_trainers(evidence: Evidence, names: re.Pattern[str]) -> Iterator[Match]:
    """Yield the calls that pad to the limit in the methods by which the program's own Trainers prepare their rows."""
    for call in (m.call for m in evidence.file_plans.matched if m.pattern.role in roles_that("trains")):
        own = call.result.cls if call.result is not None else None
        methods = [one for cls in (own.lineage() if own else ()) for one in cls.node.body if isinstance(one, ast.FunctionDef)]
        for node in (node for method in methods if names.search(method.name) for node in walk(method)):
            if isinstance(node, ast.Call) and _padding_of(node) == TO_LIMIT:
                yield Match(evidence.span_of(node), {"written": ast.unparse(node.func)}, context=call.context, node=node)


def _in_large_groups(call: Call) -> bool:
    batched, size = call.keywords.get("batched"), call.keywords.get("batch_size")
    if batched is None or not (isinstance(batched.value, Known) and batched.value.value is True):
        return False
    number = size.value.value if size is not None and isinstance(size.value, Known) else None
    return not isinstance(number, int) or number <= 0 or number >= FEW


def _padding_of(node: ast.Call) -> object:
    """Return the constant that a call is given as `padding`; None for none."""
    padding = next((keyword.value for keyword in node.keywords if keyword.arg == "padding"), None)
    return padding.value if isinstance(padding, ast.Constant) else None
