"""The cache emptied after every batch, where each call drains the queue."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._gradients import BACKWARD, called_name, inside
from mpslint.facts.facts import Call
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

WORDS = ("empty_cache",)
"""One of these stands in every function in which it finds something."""
FILE_WORDS = tuple(sorted(BACKWARD))
"""One of these stands in every such file."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield calls that empty the cache in every step of a training loop. Options: `calls`, the qualified names that do."""
    for call in evidence.facts.calls:
        if call.name in options["calls"] and not call.context.guards and not call.context.in_handler and _is_each_step(call):
            yield Match(evidence.span_of(call.node), {"written": ast.unparse(call.node)}, None, call, None, call.context, (), call.node)


def _is_each_step(call: Call) -> bool:
    """Return whether the innermost loop around a call runs `backward()` itself, in no loop of its own."""
    if not call.context.loops:
        return False
    nodes = list(inside(call.context.loops[-1]))
    nested = {id(node) for loop in nodes if isinstance(loop, (ast.For, ast.AsyncFor, ast.While)) for node in inside(loop)}
    return any(called_name(node) in BACKWARD and id(node) not in nested for node in nodes)
