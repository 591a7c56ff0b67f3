"""The length that a function of `Dataset.map` cuts its samples to by hand: `input_ids = input_ids[:MAX_LENGTH]`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from mpslint.facts.values import Bound, Call, Function, Known
from mpslint.program.walk import walk

TOKENS = re.compile(r"input_?ids|tokens|labels|attention_mask", re.IGNORECASE)
"""What is cut holds tokens, not letters or rows."""


def cut_by_hand(calls: Iterable[Call]) -> tuple[Call, int] | None:
    """Return the longest of the lengths that calls of `map` cut tokens to, with its call; None where they do not, or none is known."""
    found = [(length, call) for call in calls for length in _lengths(call)]
    if not found:
        return None
    longest, call = max(found, key=lambda pair: pair[0])
    return call, longest


def _lengths(call: Call) -> Iterator[int]:
    function = mapped_function(call)
    if function is None:
        return
    nodes = list(walk(function.node))
    for node in nodes:
        cut = node.slice if isinstance(node, ast.Subscript) and TOKENS.search(ast.unparse(node.value)) else None
        if isinstance(cut, ast.Slice) and cut.lower is None and cut.upper is not None:
            length = _number(cut.upper, function, nodes)
            if length is not None and length > 1:
                yield length


def mapped_function(call: Call) -> Function | None:
    """Return the function of the program that a call of `map` applies, or None."""
    argument = call.arguments[0] if call.arguments else call.keywords.get("function")
    value = argument.value if argument is not None else None
    function = value.function if isinstance(value, Bound) else value
    return function if isinstance(function, Function) else None


def _number(node: ast.expr, function: Function, nodes: Sequence[ast.AST]) -> int | None:
    """Return the whole number that an expression in a function is: a constant, or a name that is given one there or around it."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if not isinstance(node, ast.Name):
        return None
    given = [n.value for n in nodes if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == node.id for t in n.targets)]
    if given:
        return _number(given[0], function, ()) if len(given) == 1 and isinstance(given[0], ast.Constant) else None
    parameters = function.node.args
    if any(parameter.arg == node.id for parameter in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs)):
        return None
    frame = function.frame.having(node.id)
    value = frame.slots[node.id] if frame is not None else None
    return value.value if isinstance(value, Known) and type(value.value) is int else None
