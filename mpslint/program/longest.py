"""The longest sample of a batch: what is as long as that, and what is filled up to it, has another length in each batch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from mpslint.facts.values import TRAIT, UNKNOWN, Function, Instance, Items, Known, Unknown, Value
from mpslint.program.machine import Walker
from mpslint.program.walk import called_name

LENGTH, SAMPLE, FIRST = ((TRAIT, f"longest {what}") for what in ("length", "sample", "first"))
"""The slots of a tensor that is the longest length, of the longest sample, and of what is sorted downwards: that length."""
MAKERS = frozenset(
    "zeros ones full empty zeros_like full_like new_zeros new_ones new_full new_empty "
    "Tensor FloatTensor LongTensor IntTensor ByteTensor BoolTensor".split()
)
"""Functions and methods that make a given shape."""
IS_PAD = re.compile(r"^_*pad(?:_|$)")
"""Functions, also of the program, that fill up to a given length."""
MEASURES = re.compile(r"\blen\(|\.size\(|\.shape\b|len(gth)?s?\b|\blen(gth)?s?_")
"""What a longest length is the maximum of."""
MAXIMA, SORTS, SIZES = frozenset(["max", "amax"]), frozenset(["sort", "sorted"]), frozenset(["len", "size"])
KEEP = frozenset(["int", "item", "tolist"])
"""What gives a number as it was given."""
ASKED = MAXIMA | SORTS | SIZES | KEEP | MAKERS
FEW = 16
"""Rounding up to a multiple below this leaves nearly as many lengths as there were."""


def length_of(value: Value) -> Unknown | None:
    """Return the length of the longest sample that a value is; None for any other value."""
    length = value.slots.get(LENGTH) if isinstance(value, Instance) else value
    return length if isinstance(length, Unknown) and length.longest is not None else None


def of_call(m: Walker, node: ast.Call, receiver: Value | None, given: list[Value], value: Value) -> Value:
    """Return what a call gives: the longest length, or the longest sample, where it finds that; note what it fills up to the longest."""
    name = called_name(node)
    if name not in ASKED:
        return fill(m, given, value) if IS_PAD.match(name) else value
    given = [*given, *([receiver] if receiver is not None else [])]
    if name in MAKERS:
        return fill(m, given, value)
    if name in KEEP or name in SIZES:
        found: Iterator[Value | None] = map(length_of, given) if name in KEEP else map(_of_part, given)
        return next((one for one in found if one is not None), value)
    is_first = any(one.arg in ("reverse", "descending") and getattr(one.value, "value", None) is True for one in node.keywords)
    return _found(m, node, name, given, value) if name in MAXIMA or is_first else value


def _found(m: Walker, node: ast.Call, name: str, given: list[Value], value: Value) -> Value:
    """Return what `max(lengths)`, `max(rows, key=len)` or `sorted(rows, key=len, reverse=True)` gives."""
    by = [one.value for one in node.keywords if one.arg == "key"]
    measuring = (*node.args, node.func, *by, *(one.node for one in given if isinstance(one, Function)))
    is_measured = any(map(length_of, given)) or any(MEASURES.search(ast.unparse(one)) for one in measuring)
    if not is_measured or any(isinstance(argument, ast.Constant) for argument in node.args):
        return value
    length = Unknown("number", longest=node)
    found = Instance("", slots={SAMPLE: length}) if by else length
    part = value.slots.get(("item", 0)) if isinstance(value, Instance) else None
    for one in (value, part, *(given[-1:] if name == "sort" else ())):
        if isinstance(one, Items) and one.open and not one.slots and (one.each is None or isinstance(one.each, Unknown)):
            m.store.change(one, {0: found}, True, one.each)
        elif isinstance(one, Instance):
            m.store.write(one.slots, FIRST if name in SORTS else LENGTH, found if name in SORTS else length)
    at = getattr(node.func, "value", None)
    if by and name == "sort" and isinstance(given[-1], Unknown) and isinstance(at, ast.Name) and (frame := m.frame_with(at.id)) is not None:
        m.store.write(frame.slots, at.id, Items("list", {0: found}, node, True))  # only a list is sorted so
    return found if name in MAXIMA and isinstance(value, Unknown) else value


def _of_part(value: Value) -> Value | None:
    """Return the length of what is the longest sample, or a part of it; None for another value."""
    one = value if isinstance(value, Instance) else None
    while one is not None and SAMPLE not in one.slots:
        one = one.owner
    return one.slots[SAMPLE] if one is not None else None


def of_item(base: Value, index: Value, part: Value) -> Value:
    """Return the part of a value: the longest length of what is sorted so, or of the shape of the longest sample."""
    if not isinstance(base, Instance):
        return part
    if FIRST in base.slots and isinstance(index, Known) and index.value == 0:
        return base.slots[FIRST]
    length = _of_part(base)
    return part if length is None else length if base.name.endswith("shape") else base


def combined(left: Value, op: ast.operator, right: Value) -> Value:
    """Return what arithmetic makes of the longest length: with room for a start token or up to a multiple of a few it varies as much."""
    one, other = (left, right) if length_of(left) is not None else (right, left)
    if length_of(one) is None or not isinstance(op, (ast.Add, ast.Sub, ast.Mod)):
        return UNKNOWN
    number = other.value if isinstance(other, Known) and isinstance(other.value, int) else FEW
    is_rest = isinstance(one, Unknown) and one.reason == "rest"
    if isinstance(op, ast.Add):
        return one if isinstance(other, Known) or (length_of(other) is not None and not is_rest) else UNKNOWN
    if isinstance(op, ast.Mod) and one is left and number < FEW and isinstance(one, Unknown):
        return Unknown("rest", longest=one.longest)
    return one if isinstance(op, ast.Sub) and is_rest and one is right and number < FEW else UNKNOWN


def fill(m: Walker, given: Iterable[Value], value: Value = UNKNOWN) -> Value:
    """Note that something is filled up to a length, where that of the longest sample is given; return the value that this gives."""
    for one in given if not m.is_silent else ():
        lengths = filter(None, map(length_of, one.values() if isinstance(one, Items) else (one,)))
        m.facts.fills += [(length.longest, m.context) for length in lengths if length.longest is not None and length.reason != "rest"]
    return value
