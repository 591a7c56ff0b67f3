"""Bytes: what tensors take on the Mac's GPU, where their shapes and dtypes are known."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mpslint.facts.events import Certainty, Operand, TensorEvent
from mpslint.facts.values import Context, Instance, Symbol, Value
from mpslint.tensors.kinds import DTYPES, load_kinds
from mpslint.tensors.meet import is_assumed, note
from mpslint.tensors.shapes import product_of, shape_of
from mpslint.tensors.signatures import Signature
from mpslint.tensors.traits import DTYPE, GRAPH, PLACE, Machine, devices_of, dtype_of, is_true, joined_trait

LARGE = 2**30
"""Bytes from which on what is made is noted: less than any Mac has."""


def dtype_in(context: Context, value: Value) -> str:
    """Return the shortest dtype that a tensor may have which is computed in a context: an autocast, or what may be one, halves numbers."""
    kinds, found = load_kinds(), dtype_of(joined_trait(value, DTYPE))
    others = [one for one in context.managers if not (isinstance(one, (Symbol, Instance)) and one.name in kinds.without_graph)]
    return kinds.shorter.get(found, found) if others else found


def bytes_of(value: Value, dtype: str) -> int:
    """Return the bytes of the memory that a tensor of a dtype lies in; 0 where they aren't known."""
    shape = shape_of(value)
    total = product_of(shape.memory) if shape is not None and shape.memory is not None else None
    return total * size_of(dtype) if total is not None and dtype else 0


def size_of(dtype: str) -> int:
    """Return the bytes of a number of a dtype."""
    return max(1, DTYPES[dtype][1] // 8)


def note_large(m: Machine, node: ast.AST, made: Value, operands: Sequence[Value], signature: Signature) -> None:
    """Note that what is made on the Mac's GPU, with what certainly lies there beside it, takes many bytes.

    The last operand of the event is the largest tensor: the one made, or the first given where others as large are made of that. Under a
    test that isn't decided (`if self.flash`) nothing is certain.
    """
    largest = operands[0] if signature.copies and operands else made
    if m.is_mute or not m.context.called or m.context.guards or (shape := shape_of(largest)) is None:
        return
    places = [joined_trait(one, PLACE) for one in (largest, *operands)]
    if any(devices_of(one) != {load_kinds().gpu} or is_assumed(one) for one in places[:1]):
        return
    together = {shape.memory: largest}
    for one, place in zip(operands, places[1:], strict=True) if signature.shape.split(" ")[0] in load_kinds().computes else ():
        if (own := shape_of(one)) is not None and devices_of(place) == {load_kinds().gpu}:
            together.setdefault(own.memory, one)
    shown = [Operand(one, load_kinds().gpu, dtype_in(m.context, one), node) for one in reversed(together.values())]
    if sum(bytes_of(one.value, one.dtype) for one in shown) * max((1, *signature.copies)) >= LARGE:
        is_loss = is_true(joined_trait(made, GRAPH)) and not getattr(shape_of(made), "lengths", ())  # it is what is differentiated
        note(m, TensorEvent("large", node, tuple(shown), Certainty.SURE, m.context, "loss" if is_loss else "", name=signature.name))
