"""Lists as a program changes them in place, by methods, by assignments to their items and by `del`; the command line is one of them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Sequence

from mpslint.facts.facts import Accumulation
from mpslint.facts.joined import join_all
from mpslint.facts.values import UNKNOWN, Instance, Items, Known, Mapping, OneOf, Unknown, Value, alternatives_of, is_weak, settled
from mpslint.program.exits import Raised, may_raise
from mpslint.program.machine import COMMAND_WORDS, Walker
from mpslint.program.operators import MOST_ITEMS
from mpslint.program.places import BOUNDED
from mpslint.program.reach import CHANGING
from mpslint.tensors.arguments import CallArguments

MOST_GROWN = 512
"""Items to which a list grows with each of them known: each growth copies them."""
MOST_LETTERS = 256

GROWING = frozenset({"append", "add", "insert", "extend", "appendleft", "extendleft"})
AT_THE_END = frozenset({"append", "add", "extend"})
SHRINKING = frozenset({"pop", "popleft", "remove", "discard", "clear"})
MOVING = frozenset({"sort", "reverse", "rotate", "intersection_update", "difference_update"})


def call_method(m: Walker, items: Items, name: str, arguments: CallArguments, node: ast.Call) -> Value:
    """Return what a method of a list, a tuple or a set returns, and do to it what the method does."""
    if name in GROWING and arguments.positional:
        return _grow(m, items, name, arguments, node)
    if name == "copy":
        return Items(items.kind, dict(items.slots), node, items.open, items.each)
    if name in SHRINKING:
        return _shrink(m, items, name, arguments, node)
    if name in MOVING:
        try:
            moved = _moved(items, name, arguments)
        except Raised:
            _become(m, items, None)  # some have moved already
            raise
        if moved is None:
            may_raise(m)  # what isn't known may not be comparable
        _become(m, items, moved)
        return Known(None, node)
    if name in CHANGING:
        m.store.lose_inside([items, *arguments.all], is_whole=True)
        _become(m, items, None)
        return UNKNOWN if name[:2] == "__" else Known(None, node)
    if name == "index":
        may_raise(m)
    return _looked_up(items, name, arguments, node)


def _moved(items: Items, name: str, arguments: CallArguments) -> list[Value] | None:
    """Return the items of a list in another order; None where that is not known."""
    values = items.values()
    if name == "reverse" and _is_known(items):
        return values[::-1]
    if name == "sort" and _is_known(items) and not arguments.keywords:
        return in_order(values)
    return None


def in_order(values: Sequence[Value], *, is_reversed: bool = False) -> list[Value] | None:
    """Return values sorted; None where their order is not known."""
    if not all(isinstance(one, Known) and not one.source for one in values):
        return None
    try:
        return sorted(values, key=lambda one: one.value, reverse=is_reversed)  # type: ignore[union-attr]
    except TypeError as error:
        raise Raised(type(error).__name__) from None


def _looked_up(items: Items, name: str, arguments: CallArguments, node: ast.Call) -> Value:
    """Return what `index` and `count` give, of constants."""
    first, values = arguments.first(), items.values()
    is_known = (
        _is_known(items) and len(arguments.positional) == 1 and isinstance(first, Known) and all(isinstance(one, Known) for one in values)
    )
    if name not in ("index", "count") or not is_known or not isinstance(first, Known):
        return UNKNOWN
    try:
        found = getattr([one.value for one in values if isinstance(one, Known)], name)(first.value)
        return Known(found, node, any(map(is_weak, (first, *values))))
    except ValueError as error:
        raise Raised(type(error).__name__) from None


def _grow(m: Walker, items: Items, name: str, arguments: CallArguments, node: ast.Call) -> Value:
    """Add what a call gives; at another place than the end it moves the others."""
    argument = arguments.positional[-1]
    if not m.is_silent and isinstance(argument.node, ast.expr) and isinstance(node.func, ast.Attribute):
        m.facts.accumulations.append(Accumulation(node, node.func.value, items, argument.value, argument.node, m.context))
    values = items.values()
    if name in ("insert", "appendleft"):
        place = arguments.first() if name == "insert" else Known(0)
        is_number = isinstance(place, Known) and isinstance(place.value, int) and not place.weak
        if _is_known(items) and items.kind != BOUNDED and is_number and len(arguments.positional) < 3 and isinstance(place, Known):
            values.insert(place.value, settled(argument.value))
            _become(m, items, values)
        else:
            _mix(m, items, Items("list", {0: settled(argument.value)}))
        return Known(None, node)
    if name == "extendleft":
        _mix(m, items, argument.value)
        return Known(None, node)
    if name == "add" and _is_known(items) and isinstance(argument.value, Known):
        is_there = any(isinstance(one, Known) and one.value == argument.value.value for one in values)
        _become(m, items, values if is_there else [*values, argument.value], is_open=not all(isinstance(one, Known) for one in values))
    elif name == "add":
        m.store.lose(argument.value)
        _become(m, items, None)
    else:
        extend(m, items, argument.value if name == "extend" else Items("list", {0: settled(argument.value)}))
    return Known(None, node)


def extend(m: Walker, items: Items, more: Value) -> None:
    """Put items behind those of a list."""
    added = iterated(more)
    if items.kind == BOUNDED:
        return _mix(m, items, more)
    if items.open or added is None or len(items.slots) > MOST_GROWN or len(added) > MOST_ITEMS:
        known = [items.each or UNKNOWN] if items.open or len(items.slots) > MOST_GROWN else []
        m.store.lose_inside([more])
        m.store.change(items, items.slots, True, in_common([*known, *elements(more)]))
    else:
        m.store.change(items, {**items.slots, **dict(enumerate(added, len(items.slots)))}, False)


def _mix(m: Walker, items: Items, more: Value) -> None:
    """Put items among those of a list, it isn't known where, or in the place of which."""
    m.store.lose_inside([more])
    m.store.change(items, {}, True, in_common([*elements(items), *elements(more)]))


def deque(m: Walker, arguments: CallArguments, node: ast.Call) -> Items:
    """Return a `collections.deque`."""
    content, limit = arguments.get(0, "iterable") or Items("list", {}), arguments.get(1, "maxlen")
    kind = "deque" if limit is None or (isinstance(limit, Known) and limit.value is None) else BOUNDED
    values = iterated(content) if not arguments.is_open else None
    is_all = values is not None and (kind != BOUNDED or not values)
    return Items(kind, dict(enumerate(values or ())), node) if is_all else some_of(m, kind, content, node)


def some_of(m: Walker, kind: str, source: Value, node: ast.Call) -> Items:
    """Return a list of some of the items of another, it isn't known which."""
    m.store.lose_inside([source])
    return Items(kind, {}, node, True, in_common(elements(source)))


def in_common(values: Sequence[Value]) -> Value:
    """Return what several values have in common: tuples of one length are one tuple of what their parts are."""
    rows = columns_of(values)
    return Items("tuple", dict(enumerate(map(join_all, rows)))) if rows else join_all(list(values))


def columns_of(values: Sequence[Value]) -> list[list[Value]]:
    """Return what stands at each place of several tuples; nothing where one is something else, or of another length."""
    rows = [
        one.values()
        for value in values
        for one in alternatives_of(value)
        if isinstance(one, Items) and one.kind == "tuple" and not one.open
    ]
    is_all = len(rows) == sum(len(alternatives_of(value)) for value in values) and len(set(map(len, rows))) == 1
    return [list(column) for column in zip(*rows, strict=True)] if is_all else []


def elements(more: Value) -> list[Value]:
    """Return what a list gains, as far as it is known; it may gain what isn't."""
    if not isinstance(more, Items):
        return [UNKNOWN]
    return [*more.values(), *([more.each] if more.each is not None else [UNKNOWN] if more.open else [])]


def may_fail(value: Value) -> bool:
    """Return whether going through a value may raise: what isn't known may, and an iterator whose elements aren't all worked out."""
    if not isinstance(value, (Items, Mapping, Known)):
        return True
    return isinstance(value, Items) and value.kind == "iterator" and (value.open or any(isinstance(one, Unknown) for one in value.values()))


def iterated(value: Value) -> list[Value] | None:
    """Return what a value gives one after the other, where all of it is known."""
    if isinstance(value, Items):
        return None if value.open or (value.kind == "set" and len(value.slots) > 1) else value.values()
    if isinstance(value, Mapping):
        return None if value.is_open or value.owner is not None else [Known(key) for key in value.slots]
    if isinstance(value, OneOf) and all(isinstance(one, (Items, Instance)) for one in value.values):
        rounds = [iterated(one) for one in value.values]
        known = [one for one in rounds if one is not None and len(one) == len(rounds[0] or ())]
        return [join_all([*parts]) for parts in zip(*known, strict=True)] if len(known) == len(rounds) else None
    if isinstance(value, Instance) and value.kind == "builtins.tuple":
        return [one for key, one in value.slots.items() if key[0] == "item"]
    if isinstance(value, Known) and isinstance(value.value, (str, bytes)) and len(value.value) <= MOST_LETTERS:
        return [Known(letter, None, value.weak) for letter in value.value]
    if isinstance(value, Known) and not value.source:
        raise Raised("TypeError")
    return None


def viewed(value: Value) -> list[Value]:
    """Return what an iterator or a view goes through, which gives what that holds when it is asked."""
    return [source for source, _ in value.sources] if isinstance(value, Items) else []


def held_by(values: Sequence[Value]) -> list[object]:
    """Return all that lists and dicts hold now."""
    return [held for one in values if isinstance(one, (Items, Mapping)) for held in one.slots.values()]


def holds_still(values: Sequence[Value], held: Sequence[object]) -> bool:
    """Return whether nothing was written to what held this."""
    now = held_by(values)
    return len(now) == len(held) and all(map(operator.is_, now, held))


def _shrink(m: Walker, items: Items, name: str, arguments: CallArguments, node: ast.Call) -> Value:
    """Take away what a call names, and return it where the call does."""
    first = arguments.first() if name != "popleft" else Known(0)
    taken: Value = UNKNOWN if name in ("pop", "popleft") else Known(None, node)
    if name == "clear":
        m.store.change(items, {}, False)
        return taken
    values: list[Value] | None = items.values() if _is_known(items) and items.kind != "set" else None
    if values is None or not (first is None or (isinstance(first, Known) and not first.weak)):
        if items.open or items.slots:
            may_raise(m)
        left = in_common(elements(items)) if items.open else None
        m.store.change(items, {}, True, left)
        return left if left is not None and taken is UNKNOWN else taken
    if name in ("pop", "popleft"):
        place = -1 if first is None else first.value
        if not isinstance(place, int) or not -len(values) <= place < len(values):
            raise Raised("IndexError")
        taken = values.pop(place)
    elif isinstance(first, Known) and all(isinstance(one, Known) and not one.weak for one in values):
        constants = [one.value for one in values if isinstance(one, Known)]
        if first.value not in constants:
            if name == "discard":
                return taken
            raise Raised("ValueError")
        del values[constants.index(first.value)]
    else:
        may_raise(m)
        m.store.change(items, {}, True)
        return taken
    _become(m, items, values)
    return taken


def set_items(m: Walker, items: Items, index: Value, target: ast.expr, value: Value) -> None:
    """Write the item of a number, or those that a slice (`words[1:] = ...`) names."""
    values, value = items.values(), value if isinstance(target, ast.Slice) else settled(value)
    bounds = bounds_of(index)
    more = iterated(value) if isinstance(target, ast.Slice) else [value]
    if isinstance(index, Known) and not index.weak and isinstance(index.value, int) and index.value in items.slots:
        m.store.change(items, {**items.slots, int(index.value): value}, items.open)
    elif bounds is None or more is None or not _is_known(items):
        may_raise(m)
        m.store.lose(value)
        _become(m, items, None)
    elif not isinstance(target, ast.Slice) and not -len(values) <= bounds.start < len(values):
        raise Raised("IndexError")
    else:
        try:
            values[bounds] = more
        except ValueError as error:
            raise Raised(type(error).__name__) from None
        _become(m, items, values)


def delete_items(m: Walker, items: Items, index: Value, target: ast.expr) -> None:
    """Take away the item of a number, or those that a slice names."""
    values, bounds = items.values(), bounds_of(index)
    if bounds is None or not _is_known(items):
        may_raise(m)
        m.store.change(items, {}, True)
        return
    if not isinstance(target, ast.Slice) and not -len(values) <= bounds.start < len(values):
        raise Raised("IndexError")
    del values[bounds]
    _become(m, items, values)


def bounds_of(index: Value) -> slice | None:
    """Return the items that a subscript names; None where that is not known."""
    if any(map(is_weak, index.values() if isinstance(index, Items) else (index,))):
        return None
    if isinstance(index, Items) and index.kind == "slice":
        numbers = [one.value for one in index.values() if isinstance(one, Known) and (one.value is None or isinstance(one.value, int))]
        return slice(*numbers) if len(numbers) == 3 else None
    number = index.value if isinstance(index, Known) and isinstance(index.value, int) else None
    return slice(number, number + 1 or None) if number is not None else None


def _is_known(items: Items) -> bool:
    """Return whether the items are all that a list has, and in order."""
    return not items.open and not (items.kind == "set" and any(not isinstance(one, Known) for one in items.slots.values()))


def _become(m: Walker, items: Items, values: Sequence[Value] | None, is_open: bool = False) -> None:
    """Give a list other items; with None, any others."""
    m.store.change(items, {} if values is None else dict(enumerate(values)), is_open or values is None)


def add_words(m: Walker, more: Value) -> None:
    """Put words behind those that the program is started with, whatever these are."""
    words = m.words()
    added = more.values() if isinstance(more, Items) else []
    values = [UNKNOWN, *(word.value for word in words or ()), *added]
    is_open = not m.is_told_all() or not isinstance(more, Items) or more.open
    m.store.write(m.module.slots, COMMAND_WORDS, Items("list", dict(enumerate(values)), open=is_open))


def set_words(m: Walker, target: ast.expr, index: Value, value: Value) -> None:
    """Carry out `sys.argv[1:] = words`, where nothing is known of the words before; after any other subscript nothing is known either."""
    bounds = bounds_of(index) if isinstance(target, ast.Slice) else None
    is_all = bounds == slice(1, None, None) and isinstance(value, Items)
    words = Items("list", dict(enumerate([UNKNOWN, *value.values()])), value.origin, value.open) if isinstance(value, Items) else UNKNOWN
    m.store.write(m.module.slots, COMMAND_WORDS, words if is_all else UNKNOWN)
