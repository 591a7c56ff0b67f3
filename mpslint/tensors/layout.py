"""How a tensor lies in memory: swapped, with gaps, with numbers in several places, or behind the first number of another."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from typing import Any

from mpslint.facts.values import MAYBE, Argument, Instance, Items, Known, Lengths, Shape, Value
from mpslint.tensors.arguments import GivenByName
from mpslint.tensors.shapes import shape_by, shape_of
from mpslint.tensors.signatures import Signature
from mpslint.tensors.traits import (
    APART,
    LAYOUT,
    OFFSET,
    REPEATED,
    SHAPE,
    SWAPPED,
    Machine,
    dtype_of,
    is_number,
    is_true,
    joined_dtype,
    joined_zero,
    layout_of,
)

_RANKS = range(1, 9)
"""How many dimensions a tensor of which nothing is known may have."""


def swap(made: Instance, first: Value, signature: Signature, given: GivenByName) -> None:
    """Note that what a call makes of a tensor is swapped, unless that may undo a swap, or keeps the order of what is longer than 1."""
    shape = shape_of(first)
    orders = [
        order for rank in (_RANKS if shape is None else [len(shape.lengths)]) if (order := _order(signature, given, rank)) is not None
    ]
    wide = [[at for at in order if at is not None and (shape is None or shape.lengths[at] != 1)] for order in orders]
    is_kept = bool(wide) and all(one == sorted(one) for one in wide)
    if layout_of(first) != SWAPPED.value and not is_kept:
        made.slots[LAYOUT] = SWAPPED


def _order(signature: Signature, given: GivenByName, rank: int) -> Lengths | None:
    """Return which dimension of a tensor with so many each of what a call makes of it is; None where that isn't known, or raises."""
    name = (*signature.called_with, *signature.operands, "")[0]
    numbered = Instance("", None, {SHAPE: Known(Shape(tuple(range(rank)), None))})
    made = shape_by(signature, GivenByName({**given.values, name: Argument(numbered, None)}, given.is_open, given.rest, given.more))
    return made.value.lengths if isinstance(made, Known) else None


def repeat(made: Instance, first: Value) -> None:
    """Note that what is made of a tensor has some of its numbers in several places, where it's known to have more than the tensor."""
    before, after = (math.prod(length or 0 for length in one.lengths) if one is not None else 0 for one in map(shape_of, (first, made)))
    if 0 < before < after:
        made.slots[LAYOUT] = REPEATED


def lay_out(m: Machine, part: Instance, base: Value, index: ast.AST | None, value: Value) -> None:
    """Note how the part of a tensor by an index, of a value, lies in memory; a part by a list or a tensor (`x[mask]`) is a copy.

    It has gaps where several numbers of a dimension are kept and some of a later one are left out (`x[:, 0]`), or every second
    is (`x[::2]`). It begins behind the first number in `x[1]`, not in `x[0]`.
    """
    nodes: Sequence[ast.AST | None] = index.elts if isinstance(index, ast.Tuple) and index.elts else [index]
    values = value.values() if isinstance(value, Items) and value.kind == "tuple" else [value]
    if not all(map(_is_of_view, values)) or len(nodes) != len(values):
        return
    if layout_of(base):
        part.slots[LAYOUT] = MAYBE
    shape, are_several = shape_of(base), False
    for node, one, lengths in _dimensions(nodes, values, shape.lengths if shape is not None else ()):
        if isinstance(one, Known) and one.value in (None, Ellipsis):
            are_several = are_several or any(length != 1 for length in lengths)
            continue
        length = lengths[0] if lengths and type(lengths[0]) is int else None
        begins, leaves_out, has_gaps, kept = _sliced(m, node, length) if isinstance(node, ast.Slice) else _item(one, length)
        if begins:
            part.slots[OFFSET] = Known(True)
        if has_gaps or (are_several and leaves_out):
            part.slots[LAYOUT] = APART
        are_several = are_several or kept != 1


def _is_of_view(value: Value) -> bool:
    """Return whether an index leaves a view of a tensor: a number, None, `...`, a slice, and no truth value, which gives a copy."""
    if isinstance(value, Known):
        return not isinstance(value.value, bool)
    is_point = is_true(joined_zero(value)) and dtype_of(joined_dtype(value)) not in ("", "bool")
    return is_number(value) or is_point or getattr(value, "kind", "") == "slice"


def _dimensions(
    nodes: Sequence[ast.AST | None], values: Sequence[Value], lengths: Lengths
) -> Iterator[tuple[ast.AST | None, Value, Lengths]]:
    """Yield each part of an index, its value, and how long the dimensions are that it stands for, as far as that is known."""
    left = len(lengths)
    taken = sum(1 for one in values if not (isinstance(one, Known) and one.value in (None, Ellipsis)))
    for node, one in zip(nodes, values, strict=True):
        count = 1
        if isinstance(one, Known) and one.value in (None, Ellipsis):
            count = max(0, left - taken) if one.value is Ellipsis else 0
        else:
            taken -= 1
        at = len(lengths) - left
        yield node, one, lengths[at : at + count]
        left = max(0, left - count)


def _item(number: Value, length: int | None) -> tuple[bool, bool, bool, int | None]:
    """Return what `_sliced` does, of one number of a dimension; one that isn't known, as in a loop, isn't always the first."""
    at = number.value if isinstance(number, Known) and type(number.value) is int else 1
    return (at % length > 0 if length else at > 0), length != 1, False, 1


def _sliced(m: Machine, node: ast.Slice, length: int | None) -> tuple[bool, bool, bool, int | None]:
    """Return whether a slice of a dimension begins behind its first number, leaves any out, does so between others, and what it keeps.

    That is how many, None where it isn't known; a slice up to an unknown number may leave out nothing.
    """
    lower, upper, step = (None if one is None else _number(m.looked_at(one)) for one in (node.lower, node.upper, node.step))
    if length is not None and ... not in (lower, upper, step) and step != 0:
        kept = range(length)[lower:upper:step]
        return bool(kept) and kept[0] > 0, len(kept) < length, len(kept) > 1 and step not in (None, 1), len(kept)
    has_gaps = step not in (None, 1)
    begins = lower is ... or (lower is not None and lower > 0)
    return begins, has_gaps or begins or (upper is not None and upper is not ...), has_gaps, None


def _number(value: Value) -> Any:
    """Return the whole number that a bound of a slice is, None for none, and `...` for one that isn't known."""
    if isinstance(value, Known) and not value.weak and (value.value is None or type(value.value) is int):
        return value.value
    return ...
