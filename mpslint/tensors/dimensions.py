"""How many dimensions an array has: an element of one with one dimension is a scalar of NumPy, which is a number to a tensor."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mpslint.facts.values import COMMAND_LINE, UNKNOWN, Instance, Items, Known, Value
from mpslint.tensors.shapes import row_shape
from mpslint.tensors.traits import DIMENSIONS, MAYBE, SHAPE, ZERO, is_array, is_number, is_tensor, joined_trait, joined_zero, like


def dimensions_of(value: Value) -> int | None:
    """Return how many dimensions a value has, or the array that is made of it; None where that isn't known."""
    if isinstance(value, Items):
        inner = {dimensions_of(one) for one in (*value.values(), *([value.each] if value.each is not None else []))}
        first = next(iter(inner), 0)
        return first + 1 if first is not None and len(inner) < 2 and not (value.open and value.each is None) else None
    if is_number(value) or (isinstance(value, Known) and isinstance(value.value, (int, float, complex))):
        return 0
    found = joined_trait(value, DIMENSIONS)
    return int(str(found.value)) if isinstance(found, Known) else None


def sized(made: Instance, dimensions: int | None, otherwise: Value) -> Instance:
    """Give an array its number of dimensions, or where that isn't known what is said `otherwise` of whether it has any; return it."""
    made.slots[DIMENSIONS] = UNKNOWN if dimensions is None else Known(dimensions)
    made.slots[ZERO] = otherwise if dimensions is None else Known(dimensions == 0)
    return made


def size_argument(values: Sequence[Value]) -> int | None:
    """Return how many dimensions a size means: one number, several, or a tuple of them; None where that isn't known."""
    first = values[0]
    if isinstance(first, Items):
        return None if first.open else len(first.slots)
    is_whole = first is COMMAND_LINE or is_number(first) or (isinstance(first, Known) and isinstance(first.value, int))
    return len(values) if is_whole or len(values) > 1 else None


def size_computed(made: Instance, values: Sequence[Value]) -> Instance:
    """Give an array that is computed element by element its dimensions: those of the operand that has the most; return it."""
    found = [dimensions_of(one) for one in values]
    known = [one for one in found if one is not None]
    is_array_for_sure = any(known) or any(isinstance(one, Items) or (is_array(one) and _has_some(joined_zero(one))) for one in values)
    most = max(known) if known and len(known) == len(found) else None
    return sized(made, most, Known(False) if is_array_for_sure else MAYBE)


def _has_some(zero: Value) -> bool:
    return zero is UNKNOWN or (isinstance(zero, Known) and not zero.value)


def _is_point(value: Value) -> bool:
    shape = joined_trait(value, SHAPE)
    return isinstance(shape, Known) and not shape.value.lengths


def size_reduced(made: Instance, first: Value, axis: Value | None) -> Instance:
    """Give an array that is left of one where an axis is summed up its dimensions; return it."""
    before = dimensions_of(first)
    return sized(made, before - 1 if before and isinstance(axis, Known) and isinstance(axis.value, int) else None, MAYBE)


def element_of(value: Value, taken: int | None = 1) -> Instance:
    """Return a part of a tensor or an array by as many whole numbers as are `taken` (None: that isn't known)."""
    before = dimensions_of(value)
    left = max(0, before - taken) if before is not None and taken is not None else None
    return sized(like(value, UNKNOWN), left, MAYBE) if is_array(value) else like(value, UNKNOWN)


def row_of(value: Value) -> Instance:
    """Return what going through a tensor or an array gives."""
    row = element_of(value)
    row.slots[SHAPE] = row_shape(value)
    return row


def part_by(value: Value, node: ast.expr, index: Value) -> Instance:
    """Return the part of a tensor or an array that an index leaves, as it is written and what it is."""
    values = list(index.values()) if isinstance(index, Items) and index.kind == "tuple" and not index.open else [index]
    nodes = node.elts if isinstance(node, ast.Tuple) else [node] * len(values)
    taken = [_taken(one, of_one) for one, of_one in zip(nodes, values, strict=True)] if len(nodes) == len(values) else [None]
    part = element_of(value, None if None in taken else sum(one or 0 for one in taken))
    is_text = isinstance(index, Known) and isinstance(index.value, str)
    is_wide = any(dimensions_of(one) or (is_tensor(one) and _has_some(joined_zero(one)) and not _is_point(one)) for one in values)
    if is_text or is_wide or any(isinstance(one, ast.Slice) for one in nodes):
        part.slots[ZERO] = Known(False)
    return part


def _taken(node: ast.expr, index: Value) -> int | None:
    """Return how many dimensions an index takes away; None where that isn't known."""
    if isinstance(node, ast.Slice):
        return 0
    if isinstance(index, Known) and (index.value is None or index.value is Ellipsis):
        return -1 if index.value is None else 0
    return None if (isinstance(index, Known) and isinstance(index.value, (bool, str))) or dimensions_of(index) != 0 else 1
