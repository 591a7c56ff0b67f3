"""The length that a function of `Dataset.map` cuts its samples to by hand: `input_ids = input_ids[:MAX_LENGTH]`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from mpslint.facts.facts import Window
from mpslint.facts.values import Bound, Call, Function, Known
from mpslint.program.walk import walk

TOKENS = re.compile(r"input_?ids|tokens|labels|attention_mask", re.IGNORECASE)
"""What is cut holds tokens, not letters or rows."""


def cut_by_hand(calls: Iterable[Call], windows: Iterable[Window]) -> tuple[Call, int] | None:
    """Return the longest of the lengths that calls of `map` cut tokens to, with its call; None where they do not, or none is known."""
    lengths = {id(one.node): one.length.value for one in windows if isinstance(one.length, Known) and type(one.length.value) is int}
    found = [(length, call) for call in calls for node in _cuts(call) if (length := lengths.get(id(node), 0)) > 1]
    longest, made = max(found, key=lambda pair: pair[0], default=(0, None))
    return (made, longest) if made is not None else None


def _cuts(call: Call) -> Iterator[ast.Slice]:
    """Yield what a function that `map` applies cuts tokens by, from their beginning on: nothing that the call may give it (`fn_kwargs`)."""
    function = mapped_function(call)
    given = {one.arg for one in walk(function.node.args) if isinstance(one, ast.arg)} if function is not None else set()
    for node in walk(function.node) if function is not None else ():
        cut = node.slice if isinstance(node, ast.Subscript) and TOKENS.search(ast.unparse(node.value)) else None
        if isinstance(cut, ast.Slice) and cut.lower is None and not (isinstance(cut.upper, ast.Name) and cut.upper.id in given):
            yield cut


def mapped_function(call: Call) -> Function | None:
    """Return the function of the program that a call of `map` applies, or None."""
    argument = call.arguments[0] if call.arguments else call.keywords.get("function")
    value = argument.value if argument is not None else None
    function = value.function if isinstance(value, Bound) else value
    return function if isinstance(function, Function) else None
