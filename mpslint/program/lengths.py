"""How long samples are: what a collate function fills up to the longest of each batch, and what is cut or has one length before.

What `map`, a loader or a Trainer is given for it is walked once more, from a sample of the data set on; nothing else of that is kept.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import re
from collections.abc import Iterable, Iterator, Sequence

from mpslint.facts.facts import Preparation, Uses
from mpslint.facts.joined import join_all
from mpslint.facts.values import (
    LENGTHS,
    UNKNOWN,
    Argument,
    Bound,
    Call,
    Class,
    DictEntry,
    Function,
    Instance,
    Items,
    Known,
    Mapping,
    Symbol,
    Unknown,
    Value,
    alternatives_of,
    made_from,
    method_of,
)
from mpslint.program.exits import Raised
from mpslint.program.lists import GROWING
from mpslint.program.machine import Walker
from mpslint.program.walk import called_name
from mpslint.tensors.arguments import CallArguments
from mpslint.tensors.kinds import fits, load_kinds
from mpslint.tensors.loaders import sample_of
from mpslint.tensors.shapes import shape_of
from mpslint.tensors.traits import is_true, retyped

MAKERS = frozenset(
    "zeros ones full empty zeros_like full_like new_zeros new_ones new_full new_empty "
    "Tensor FloatTensor LongTensor IntTensor ByteTensor BoolTensor".split()
)
"""Functions and methods that make a given shape."""
MEASURES = re.compile(r"\blen\(|\.size\(|\.shape\b|len(gth)?s?\b|\blen(gth)?s?_")
"""What a longest length is the maximum of."""
MAXIMA, SORTS = frozenset(["max", "amax"]), frozenset(["sort", "sorted"])
KEEP = frozenset(["int", "item", "tolist", "len", "size"])
"""What gives a number as it was given, or the length of what it's given."""
FEW = 16
"""Rounding up to a multiple below this leaves nearly as many lengths as there were."""
CUT, FILLED, LONGEST, REST = "cut", "filled", "longest", "rest"
Ends = frozenset[tuple[str, object]]
"""What was done to a value, and up to which length; or that it is the longest sample or its length, or what that leaves when it is divided
by a few, and which call found it."""
NOTHING: Ends = frozenset()
VARYING = (LONGEST, REST)


@functools.cache
def _preparing(names: tuple[str, ...]) -> Sequence[str] | None:
    """Return the parameters of what has a function prepare samples, by the names of a call; None for another call."""
    return next((row for pattern, row in load_kinds().preparing.items() if any(fits(one, (pattern,)) for one in names)), None)


def prepare(m: Walker, maker: Call) -> None:
    """Note what the function does with samples that a loader, a Trainer or `map` is given."""
    said = _preparing((*maker.names, maker.method))
    if said is None:
        return
    given = {**dict(zip(said, maker.arguments, strict=False)), **maker.keywords}
    function, data = (next((given[one].value for one in names if one in given), None) for names in load_kinds().prepared.values())
    for one in alternatives_of(function or UNKNOWN) if function is not None or data is not None else ():
        before: tuple[Argument, ...] = ()
        named: dict[str, Argument] = {}
        bound = one.call if isinstance(one, Instance) and one.name in m.platform.partials else None
        if bound is not None and bound.arguments:
            one, before, named = bound.arguments[0].value, bound.arguments[1:], bound.keywords
        with _apart(m, maker, one):
            sample = Instance("") if data is None else _sample(m, data, maker.node)
            m.preparation = Preparation(maker, one, rows=[_row(sample)])
            m.facts.preparations.append(m.preparation)
            if isinstance(one, (Function, Bound)) or method_of(one, "__call__") is not None:
                rows = sample if data is None else Items("list", {}, None, True, sample)
                arguments = CallArguments(
                    (*before, Argument(rows, None)), named, not load_kinds().preparing_more.isdisjoint(maker.keywords)
                )
                m.preparation.rows.append(_row(m.calls.call_value(m, one, None, arguments, maker.node)))


@contextlib.contextmanager
def _apart(m: Walker, maker: Call, function: Value) -> Iterator[None]:
    """Walk what a function does with samples, of which nothing else is noted and no write is left."""
    m.context, m.preparation = maker.context, Preparation(maker, function)
    uses, m.facts.uses = m.facts.uses, Uses()
    try:
        with m.silently(), m.store.path(), contextlib.suppress(Raised):
            yield
    finally:
        m.preparation, m.facts.uses, m.is_dead = None, uses, False


def _row(value: Value) -> tuple[Value, dict[object, Value]]:
    """Return a row with its entries as they are now."""
    held = [one.slots.items() for one in alternatives_of(value) if isinstance(one, (Mapping, Instance))]
    return value, {key: part.value if isinstance(part, DictEntry) else part for slots in held for key, part in slots}


def _sample(m: Walker, data: Value, node: ast.Call) -> Value:
    """Return a sample of a data set, or of the one that it is a part of."""
    found = [next((part for part in made_from(one) if method_of(part, "__getitem__") is not None), one) for one in alternatives_of(data)]
    return join_all([sample_of(m, one, node) for one in found])


def has_one_length(value: Value) -> bool:
    """Return whether samples, or one of the parts that each has, were brought to one length, or are tensors of one shape."""
    if isinstance(value, Items):
        inner = [*value.values(), *([value.each] if value.each is not None else [])]
        return bool(inner) and all(map(has_one_length, inner))
    if isinstance(value, Mapping):
        return any(has_one_length(entry.value) for entry in value.slots.values())
    ends, shape = ends_of(value), shape_of(value)
    return any((CUT, to) in ends and (FILLED, to) in ends for _, to in ends) or (shape is not None and None not in shape.lengths[:1] != ())


def is_filled(value: Value) -> bool:
    """Return whether a batch, or a part of it, was filled up to a length that doesn't vary."""
    if isinstance(value, Mapping):
        return any(is_filled(entry.value) for entry in value.slots.values())
    return any(how == FILLED for how, _ in ends_of(value))


def ends_of(value: Value) -> Ends:
    """Return what was done to a value, or to what it is a part of; of several, to any of them."""
    every: list[Ends] = []
    for one in alternatives_of(value):
        inner = [*one.values(), *([one.each] if one.each is not None else [])] if isinstance(one, Items) else []
        while isinstance(one, Instance) and LENGTHS not in one.slots and one.owner is not None:
            one = one.owner
        own = alternatives_of(one.slots.get(LENGTHS, UNKNOWN)) if isinstance(one, Instance) else ()
        every.append(NOTHING.union(*(said.value for said in own if isinstance(said, Known)), *map(ends_of, inner)))
    is_sure = all(any(how in VARYING for how, _ in one) for one in every)
    return frozenset(one for one in NOTHING.union(*every) if is_sure or one[0] not in VARYING)


def _with_ends(value: Value, ends: Ends) -> Value:
    """Return a value of which is known what was done to it."""
    if not ends or isinstance(value, Known):
        return value
    if not isinstance(value, Instance):
        is_vague = isinstance(value, Unknown) or (isinstance(value, Items) and value.open)
        return Instance("", slots={LENGTHS: Known(ends)}) if is_vague else value
    value.slots[LENGTHS] = Known(ends | ends_of(value))  # what a sample is stays known behind the walk of its data set
    return value


def _up_to(length: Value) -> object:
    """Return a length as others are compared with it: a number, or what is not known but one."""
    return length.value if isinstance(length, Known) else length


def is_longest(value: Value) -> bool:
    """Return whether a value is the longest sample of a batch, or the length of that."""
    return any(how == LONGEST for how, _ in ends_of(value))


def of_call(m: Walker, node: ast.Call, callee: Value, receiver: Value | None, arguments: CallArguments, value: Value) -> Value:
    """Return what a call gives, of which is known whether it is the longest, and what was done to it; note what it fills up to that."""
    if m.preparation is None:
        return value
    name, given = called_name(node), [*arguments.all, *([receiver] if receiver is not None else [])]
    if isinstance(callee, Symbol) and callee.name == "builtins.list" and len(given) == 1 and isinstance(given[0], Instance):
        return given[0]
    ends = NOTHING.union(*map(ends_of, given))
    is_brought = isinstance(value, Instance) and fits(value.name, load_kinds().one_length)
    if name in MAKERS or is_brought:
        fill(m, given)
    if is_brought or _cuts_and_fills(arguments):
        ends |= {(CUT, name), (FILLED, name)}
    if name in GROWING and receiver is not None:
        _with_ends(receiver, ends)
    ends = ends if name in KEEP else frozenset(one for one in ends if one[0] not in VARYING)
    if _finds_longest(node, name, given):
        by = any(one.arg == "key" for one in node.keywords)
        ends = frozenset({(LONGEST, node)})
        for one in (value, *given[-1:]) if name in SORTS else ():
            if isinstance(one, Items) and one.open and not one.slots:
                m.store.change(one, {0: Instance("", slots={LENGTHS: Known(ends)})}, True, one.each)
        if isinstance(value, Items) and name in SORTS:
            return value
        value = m.preparation.longest.setdefault(node, Instance("")) if by or isinstance(value, Unknown) else value
        if isinstance(value, Instance) and isinstance(first := value.slots.get(("item", 0)), Instance):
            _with_ends(first, ends)
    is_followed = isinstance(callee, (Function, Class)) or (isinstance(callee, Bound) and callee.function is not None)
    return value if is_followed else _with_ends(value, ends)


def _cuts_and_fills(arguments: CallArguments) -> bool:
    """Return whether a tokenizer or processor is told to pad to `max_length`, and to cut there."""
    padding, truncation = (arguments.named.get(key, UNKNOWN) for key in ("padding", "truncation"))
    return isinstance(padding, Known) and padding.value == "max_length" and is_true(truncation)


def _finds_longest(node: ast.Call, name: str, given: list[Value]) -> bool:
    """Return whether a call is `max(lengths)`, `max(rows, key=len)` or `sorted(rows, key=len, reverse=True)`."""
    is_first = any(one.arg in ("reverse", "descending") and getattr(one.value, "value", None) is True for one in node.keywords)
    if not (name in MAXIMA or (name in SORTS and is_first)) or any(isinstance(argument, ast.Constant) for argument in node.args):
        return False
    by = [one.value for one in node.keywords if one.arg == "key"]
    measuring = (*node.args, node.func, *by, *(one.node for one in given if isinstance(one, Function)))
    is_measured = any(map(is_longest, given)) or any(MEASURES.search(ast.unparse(one)) for one in measuring)
    return is_measured and not any(map(has_one_length, given))


def of_item(m: Walker, node: ast.Subscript, base: Value, index: Value, part: Value) -> Value:
    """Return the part of a value, which is as long as the longest where that is a part of it, or cut."""
    if m.preparation is None:
        return part
    whole = base if isinstance(base, Instance) else None
    if isinstance(index, Items) and index.kind == "slice":
        first, last = index.values()[:2]
        if all(isinstance(one, Known) and one.value is None for one in index.values()):
            return base
        is_front = isinstance(first, Known) and not first.value
        length = last if is_front else index.each or Known(None)
        is_cut = not isinstance(length, Known) or (isinstance(length.value, int) and length.value > 0)
        m.preparation.cuts += [(node, length)] if is_cut and is_front else []
        made = retyped(part) if isinstance(part, Instance) else Instance("", owner=whole)
        made.name = "[:]"
        return _with_ends(made, ends_of(base) | ({(CUT, _up_to(length))} if is_cut else NOTHING))
    if isinstance(part, Unknown) and not isinstance(base, Known):
        part = Instance("", owner=whole)
    if isinstance(part, Instance) and part.owner is whole and part.call is None and isinstance(index, Known):
        part = retyped(part)
        part.name = f".{index.value}"  # which one it is
    return part


def of_operator(m: Walker, op: ast.operator, left: Value, right: Value, value: Value) -> Value:
    """Return what an operator makes of values of which something is known: what is left of a length is what fills up to it."""
    if m.preparation is None:
        return value
    is_rest = isinstance(op, ast.Sub) and not isinstance(right, Known)
    if is_rest and not is_longest(right):
        fill(m, [left])  # `[0] * (longest - len(row))`
    filled = {(FILLED, _up_to(left))} if is_rest and not is_longest(left) else NOTHING
    done = {one for one in ends_of(left) | ends_of(right) if one[0] not in VARYING}
    return _with_ends(value, _longest_after(left, op, right) | done | filled)


def _longest_after(left: Value, op: ast.operator, right: Value) -> Ends:
    """Return what arithmetic leaves of the longest length: with room for a start token or up to a multiple of a few it varies as much."""
    here, there = (frozenset(one for one in ends_of(side) if one[0] in VARYING) for side in (left, right))
    number = next((one.value for one in (left, right) if isinstance(one, Known) and isinstance(one.value, int)), FEW)
    if isinstance(op, ast.Add) and (
        isinstance(left, Known) or isinstance(right, Known) or (is_longest(left) and there) or is_longest(right)
    ):
        return here | there
    if isinstance(op, ast.Mod) and number < FEW:
        return frozenset((REST, found) for _, found in here)
    return there if isinstance(op, ast.Sub) and not is_longest(right) and number < FEW else NOTHING


def fill(m: Walker, given: Iterable[Value]) -> None:
    """Note that something is filled up to a length, where that of the longest sample is given."""
    if m.preparation is not None:
        ends = NOTHING.union(*map(ends_of, given))
        m.preparation.fills += [(found, m.context) for how, found in ends if how == LONGEST and isinstance(found, ast.Call)]
