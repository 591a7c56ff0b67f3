"""Rows that `Dataset.map` pads by the thousand: they have few lengths before any collator sees them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._mapped import mapped_function
from mpslint.facts.values import Call, Known
from mpslint.program.walk import walk
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

FEW = 256
"""Groups of fewer rows have too many lengths."""
TO_LONGEST = (True, "longest")

GATE = Gate(words=("tokenizer", "map("))


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the calls of a tokenizer that pad, in a function that `map` gives large groups of rows to."""
    for call in evidence.facts.calls:
        function = mapped_function(call) if call.method == "map" and _in_large_groups(call) else None
        for node in walk(function.node) if function is not None else ():
            if isinstance(node, ast.Call) and _pads(node):
                yield Match(evidence.span_of(node), {"written": ast.unparse(node.func)}, context=call.context, node=node)


def _in_large_groups(call: Call) -> bool:
    batched, size = call.keywords.get("batched"), call.keywords.get("batch_size")
    if batched is None or not (isinstance(batched.value, Known) and batched.value.value is True):
        return False
    number = size.value.value if size is not None and isinstance(size.value, Known) else None
    return not isinstance(number, int) or number <= 0 or number >= FEW


def _pads(node: ast.Call) -> bool:
    """Return whether a call is one of a tokenizer, that pads to the longest of its texts."""
    name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
    padding = next((keyword.value for keyword in node.keywords if keyword.arg == "padding"), None)
    return name.endswith("tokenizer") and isinstance(padding, ast.Constant) and padding.value in TO_LONGEST
