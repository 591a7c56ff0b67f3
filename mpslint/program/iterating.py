"""Python's own functions that go through values one after the other: `range`, `zip`, `sorted`, `sum` and their like."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Sequence
from typing import Any

from mpslint.facts.joined import join_all, truth
from mpslint.facts.values import LATER, UNKNOWN, Bound, Class, Function, Items, Known, Mapping, Symbol, Value, is_weak
from mpslint.program.effects import never_sure_again
from mpslint.program.exits import Raised, cut, marks
from mpslint.program.lists import columns_of, elements, in_order, iterated
from mpslint.program.machine import Walker
from mpslint.program.operators import MOST_ITEMS, combine
from mpslint.tensors import gone_through
from mpslint.tensors.arguments import CallArguments

LONGEST_RANGE = 64
MOST_CALLS = 16
"""Calls of a function of the program that `map` and `filter` are followed for."""
ITERATING = frozenset("list tuple set frozenset sorted reversed range enumerate zip map filter sum any all iter next".split())


def call_iterating(m: Walker, name: str, arguments: CallArguments, node: ast.Call) -> Value | None:
    """Return what such a function gives; None where that is not known."""
    values = [argument.value for argument in arguments.positional]
    if name == "zip" and arguments.is_open and not values:
        return _columns(arguments.rest, node)
    if arguments.is_open or (arguments.keywords and name not in ("sorted", "enumerate")):
        return None
    if name == "range":
        return _range(values, node)
    if name == "next":
        return _next(values)
    if name in ("map", "filter"):
        return _mapped(m, name, values, node)
    if not values:
        return _iterator([], values, node) if name == "zip" else Items(_KINDS[name], {}, node) if name in _KINDS else None
    if name == "zip":
        return _zipped(values, node)
    if name in ("enumerate", "sum"):
        given = arguments.get(1, "start")
        if len(values) > 2 or set(arguments.keywords) - {"start"} or (given is not None and not isinstance(given, Known)):
            return None
    elif len(values) != 1:
        return None
    more = iterated(values[0])
    if more is None:
        return None
    start = arguments.get(1, "start") or Known(0)
    if name == "sum":
        return _sum(more, start, node)
    if name in ("any", "all"):
        return _any(more, name == "any", node)
    if name == "enumerate":
        first = start.value if isinstance(start, Known) and isinstance(start.value, int) else 0
        pairs = [Items("tuple", {0: Known(number, node), 1: one}) for number, one in enumerate(more, first)]
        return _iterator(pairs, values, node)
    if name in ("reversed", "iter"):
        return _iterator(more[::-1] if name == "reversed" else more, values, node)
    if name == "sorted":
        return _sorted(more, arguments, node)
    if name in ("set", "frozenset"):
        return _set(more, node)
    return Items(_KINDS[name], dict(enumerate(more)), node)


_KINDS = {"list": "list", "tuple": "tuple", "set": "set", "frozenset": "set"}


def _iterator(values: Sequence[Value], sources: Sequence[Value], node: ast.AST) -> Items:
    kept = tuple((one, one.slots) for one in sources if isinstance(one, (Items, Mapping)))
    inner = tuple(one for source in sources if isinstance(source, Items) for one in source.sources)
    return Items("iterator", dict(enumerate(values)), node, sources=(*kept, *inner))


def _range(values: Sequence[Value], node: ast.Call) -> Value | None:
    numbers = [one.value for one in values if isinstance(one, Known) and not one.weak and type(one.value) in (int, bool)]
    if not 0 < len(numbers) < 4 or len(numbers) < len(values):
        return None
    try:
        found = range(*numbers)
    except ValueError as error:
        raise Raised(type(error).__name__) from None
    return Items("range", {index: Known(number, node) for index, number in enumerate(found)}, node) if not found[LONGEST_RANGE:] else None


def _next(values: Sequence[Value]) -> Value | None:
    more = iterated(values[0]) if values and isinstance(values[0], Items) and values[0].kind == "iterator" else None
    if more is None:
        return None
    if not more and len(values) == 1:
        raise Raised("StopIteration")
    return more[0] if more else values[1]


def _zipped(values: Sequence[Value], node: ast.Call) -> Value | None:
    columns = [iterated(one) for one in values]
    known = [column for column in columns if column is not None]
    if len(known) < len(columns):
        return None
    return _iterator([Items("tuple", dict(enumerate(row))) for row in zip(*known, strict=False)], values, node)


def _columns(rows: Value, node: ast.Call) -> Value | None:
    """Return what `zip(*rows)` gives of rows that have their parts in common; None where it isn't known how many these are."""
    found = columns_of(elements(rows) if isinstance(rows, Items) else [gone_through.each_of(rows) or UNKNOWN])
    return _iterator([Items("tuple", {}, node, True, join_all(column)) for column in found], [rows], node) if found else None


def _sum(values: Sequence[Value], start: Value, node: ast.Call) -> Value:
    total = start
    for one in values:
        total = combine(total, ast.Add(), one, node)
    if not isinstance(total, Known) or (isinstance(total.value, (float, complex)) and not _is_exact(total.value, (start, *values))):
        return UNKNOWN
    return Known(total.value, node, total.weak)


def _is_exact(total: Any, values: Iterable[Value]) -> bool:
    """Return whether numbers that were added up one by one give what Python gives from 3.12 on, too, where `sum` makes up for rounding."""
    try:
        return bool(math.fsum(one.value for one in values if isinstance(one, Known)) == total)
    except (OverflowError, TypeError, ValueError):  # infinities of both signs, complex numbers
        return False


def _any(values: Sequence[Value], decisive: bool, node: ast.Call) -> Value:
    answers = [None if is_weak(one) else truth(one) for one in values]
    if decisive in answers:
        return Known(decisive, node)
    return UNKNOWN if None in answers else Known(not decisive, node)


def _sorted(values: Sequence[Value], arguments: CallArguments, node: ast.Call) -> Value | None:
    reverse = arguments.keywords.get("reverse")
    answer = truth(reverse.value) if reverse is not None else False
    if set(arguments.keywords) - {"reverse"} or answer is None:
        return None
    found = in_order(values, is_reversed=answer)
    return Items("list", dict(enumerate(found)), node) if found is not None else None


def _set(values: Sequence[Value], node: ast.Call) -> Value | None:
    if not all(isinstance(one, Known) and one.value.__hash__ is not None for one in values):
        return None
    different = {one.value: one for one in reversed(values) if isinstance(one, Known)}
    return Items("set", dict(enumerate(reversed(different.values()))), node)


def _mapped(m: Walker, name: str, values: Sequence[Value], node: ast.Call) -> Value | None:
    """Return what a function gives for each of several values, or which of them it lets pass; None where that is not known."""
    function, given = values[0] if values else UNKNOWN, values[1:]
    columns = [iterated(one) for one in given]
    rows = list(zip(*(column for column in columns if column is not None), strict=False))
    is_followed = isinstance(function, (Symbol, Function, Class)) or (isinstance(function, Bound) and function.function is not None)
    if not columns or None in columns or len(rows) > MOST_CALLS or not (is_followed or (name == "filter" and isinstance(function, Known))):
        return None
    rows_made: list[Value] | None = []
    before, noted, is_mute = marks(m), len(m.facts.events), m.is_mute
    with m.store.path() as written:
        for number, row in enumerate(rows):
            try:
                with m.silently(number > 0):  # what it does is noted once for all, but for what happens to tensors
                    m.is_told = not is_mute
                    result = row[0] if isinstance(function, Known) else m.calls.call_with(m, function, row, node)
            except Raised:
                m.is_dead = True
            answer = None if m.is_dead else truth(result) if name == "filter" else True
            if answer is None:
                rows_made = None
                break
            if answer:
                rows_made = [*(rows_made or []), row[0] if name == "filter" else result]
    m.is_dead = False
    m.facts.told([], noted, (node,))
    cut(m, before)  # what it does, and where that raises, comes later
    never_sure_again(m, written)
    if rows_made is None or written:
        return None
    made = _iterator(rows_made, given, node)
    made.sources = (*made.sources, (function, LATER))
    return made


def as_pairs(mapping: Mapping, name: str, node: ast.AST) -> Items | None:
    """Return the view that `items`, `keys` or `values` gives of a dict; None where not all of it is known."""
    if mapping.is_open or mapping.owner is not None or len(mapping.slots) > MOST_ITEMS:
        return None
    rows: list[Value] = []
    for key, entry in mapping.slots.items():
        known = Known(key, node)
        rows.append(known if name == "keys" else entry.value if name == "values" else Items("tuple", {0: known, 1: entry.value}))
    return _iterator(rows, [mapping], node)
