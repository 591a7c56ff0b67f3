"""Lists as a program changes them in place, by methods, by assignments to their items and by `del`; the command line is one of them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mpslint.facts.facts import Accumulation
from mpslint.facts.values import UNKNOWN, Items, Known, Value
from mpslint.program.arguments import CallArguments
from mpslint.program.machine import COMMAND_WORDS, Walker

GROWING = frozenset({"append", "add", "insert", "extend", "appendleft"})
AT_THE_END = frozenset({"append", "add", "extend"})
SHRINKING = frozenset({"pop", "popleft", "remove", "discard", "clear"})
MOVING = frozenset({"sort", "reverse", "rotate", "intersection_update", "difference_update"})


def call_method(m: Walker, items: Items, name: str, arguments: CallArguments, node: ast.Call) -> Value:
    """Return what a method of a list, a tuple or a set returns, and do to it what the method does."""
    if name in GROWING and arguments.positional:
        return _grow(m, items, name, arguments, node)
    if name == "copy":
        return Items(items.kind, dict(items.slots), node, items.open)
    if name == "update":
        items.open = True
    elif name in SHRINKING:
        return _shrink(m, items, name, arguments, node)
    elif name in MOVING:
        reverse = items.values()[::-1] if name == "reverse" and _is_known(m, items) else None
        _become(m, items, reverse)
    return UNKNOWN


def _grow(m: Walker, items: Items, name: str, arguments: CallArguments, node: ast.Call) -> Value:
    """Add what a call gives; at another place than the end it moves the others."""
    argument = arguments.positional[-1]
    if not m.is_silent and isinstance(argument.node, ast.expr) and isinstance(node.func, ast.Attribute):
        m.facts.accumulations.append(Accumulation(node, node.func.value, argument.value, argument.node, m.context))
    if name not in AT_THE_END:
        place = arguments.first() if name == "insert" else Known(0)
        is_known = _is_known(m, items) and isinstance(place, Known) and isinstance(place.value, int) and len(arguments.positional) < 3
        values = items.values()
        if is_known and isinstance(place, Known):
            values.insert(place.value, argument.value)
        _become(m, items, values if is_known else None)
        return Known(None, node)
    more = argument.value if name == "extend" else Items("list", {0: argument.value} if name == "append" else {}, open=name != "append")
    if isinstance(more, Items) and not more.open and not items.open and not m.context.loops:
        for value in more.values():
            m.store.write(items.slots, len(items.slots), value)
    else:
        items.open = True
    return Known(None, node)


def _shrink(m: Walker, items: Items, name: str, arguments: CallArguments, node: ast.Call) -> Value:
    """Take away what a call names, and return it where the call does."""
    first = arguments.first() if name != "popleft" else Known(0)
    values: list[Value] | None = items.values() if _is_known(m, items) else None
    taken: Value = UNKNOWN
    if name == "clear":
        values = values and []
    elif values and name in ("pop", "popleft"):
        place = -1 if first is None else first.value if isinstance(first, Known) else None
        is_there = isinstance(place, int) and -len(values) <= place < len(values)
        values, taken = ([*values], values[place]) if is_there and isinstance(place, int) else (None, UNKNOWN)
        if values is not None and isinstance(place, int):
            del values[place]
    elif values:
        constants = [one.value if isinstance(one, Known) else one for one in values]
        is_there = isinstance(first, Known) and all(isinstance(one, Known) for one in values) and first.value in constants
        values = values if is_there else None
        if values is not None and isinstance(first, Known):
            del values[constants.index(first.value)]
    _become(m, items, values)
    return taken


def set_items(m: Walker, items: Items, index: Value, target: ast.expr, value: Value) -> None:
    """Write the item of a number, or those that a slice (`words[1:] = ...`) names."""
    values = items.values()
    bounds = _bounds(m, target, index)
    if isinstance(index, Known) and isinstance(index.value, int) and index.value in items.slots:
        m.store.write(items.slots, index.value, value)
    elif bounds is None or not _is_known(m, items) or (isinstance(target, ast.Slice) and (not isinstance(value, Items) or value.open)):
        _become(m, items, None)
    else:
        values[bounds] = value.values() if isinstance(value, Items) and isinstance(target, ast.Slice) else [value]
        _become(m, items, values)


def delete_items(m: Walker, items: Items, index: Value, target: ast.expr) -> None:
    """Take away the item of a number, or those that a slice names."""
    values, bounds = items.values(), _bounds(m, target, index)
    if bounds is not None:
        del values[bounds]
    _become(m, items, values if bounds is not None and _is_known(m, items) else None)


def _bounds(m: Walker, target: ast.expr, index: Value) -> slice | None:
    """Return the items that a subscript names; None where that is not known, or steps."""
    if not isinstance(target, ast.Slice):
        number = index.value if isinstance(index, Known) and isinstance(index.value, int) else None
        return slice(number, number + 1 or None) if number is not None else None
    ends = [m.value(part) if part is not None else Known(None) for part in (target.lower, target.upper)]
    numbers = [one.value for one in ends if isinstance(one, Known) and (one.value is None or isinstance(one.value, int))]
    return slice(*numbers) if len(numbers) == 2 and target.step is None else None


def _is_known(m: Walker, items: Items) -> bool:
    """Return whether the items are all that a list has, and what is walked happens once."""
    return not items.open and not m.context.loops and items.kind != "set"


def _become(m: Walker, items: Items, values: Sequence[Value] | None) -> None:
    """Give a list other items; with None, any others."""
    if values is None:
        items.open = True
        values = [UNKNOWN] * len(items.slots)
    for index in range(len(values), len(items.slots)):
        m.store.delete(items.slots, index)
    for index, value in enumerate(values):
        if items.slots.get(index) is not value:
            m.store.write(items.slots, index, value)


def add_words(m: Walker, more: Value) -> None:
    """Put words behind those that the program is started with, whatever these are."""
    words = m.words()
    added = more.values() if isinstance(more, Items) else []
    values = [UNKNOWN, *(word.value for word in words or ()), *added]
    is_open = not m.is_told_all() or not isinstance(more, Items) or more.open
    m.store.write(m.module.slots, COMMAND_WORDS, Items("list", dict(enumerate(values)), open=is_open))


def set_words(m: Walker, target: ast.expr, index: Value, value: Value) -> None:
    """Carry out `sys.argv[1:] = words`, where nothing is known of the words before; after any other subscript nothing is known either."""
    bounds = _bounds(m, target, index) if isinstance(target, ast.Slice) else None
    is_all = bounds == slice(1, None) and isinstance(value, Items)
    m.store.write(m.module.slots, COMMAND_WORDS, _with_name(value) if is_all and isinstance(value, Items) else UNKNOWN)


def _with_name(words: Items) -> Items:
    return Items("list", dict(enumerate([UNKNOWN, *words.values()])), words.origin, words.open)
