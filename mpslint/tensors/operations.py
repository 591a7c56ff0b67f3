"""Operators of Python between tensors, arrays and numbers: `a + b`, `a @ b`, `a < b`, `-a`, `a[i]`."""

from __future__ import annotations

import ast
from typing import Any

from mpslint.facts.events import Certainty, Operand, TensorEvent
from mpslint.facts.values import RAISED, UNKNOWN, Argument, Call, Instance, Items, Known, OneOf, Value, alternatives_of
from mpslint.tensors.dimensions import part_by, size_computed
from mpslint.tensors.dtypes import result_dtype, typed_operand
from mpslint.tensors.gone_through import held_at
from mpslint.tensors.graphs import computed
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.layout import lay_out
from mpslint.tensors.meet import is_assumed, meet, met, note, note_use, on_cpu, shared_place, wide
from mpslint.tensors.memory import note_large
from mpslint.tensors.shapes import PRODUCT, TOGETHER, part_shape, shape_of_operator
from mpslint.tensors.state import default_dtype, is_without_graph
from mpslint.tensors.traits import (
    DTYPE,
    EACH,
    KEY,
    MAYBE,
    NUMBER,
    PLACE,
    REAL,
    SHAPE,
    WHOLE,
    ZERO,
    Machine,
    devices_of,
    is_array,
    is_number,
    is_tensor,
    is_true,
    joined_trait,
    joined_zero,
    kind_of,
    like,
    typed,
)
from mpslint.tensors.transfer import graph_of, zero_of


def binary(
    m: Machine,
    node: ast.AST,
    op: ast.operator | ast.cmpop,
    left: Value,
    right: Value,
    nodes: tuple[ast.AST, ast.AST],
    in_place: bool = False,
) -> Value | None:
    """Return what an operator makes of two values of which one is a tensor or an array; None for others.

    Notes where they don't go together. With `in_place` the left one keeps its dtype.
    """
    kinds = load_kinds()
    left, right = sides = (_summed(left), _summed(right))
    if any(map(is_number, sides)) and all(
        is_number(one) or (isinstance(one, Known) and isinstance(one.value, (int, float))) for one in sides
    ):
        types = set(map(_type_of, sides))
        return REAL if isinstance(op, ast.Div) or float in types else NUMBER if None in types or isinstance(op, ast.Pow) else WHOLE
    for one in sides:
        if isinstance(one, Instance) and not one.kind and PLACE in one.slots and one.cls is None:
            one.kind = kinds.tensor  # what was moved and is computed with
    arrays = [one for one in sides if is_array(one)]
    if any(map(is_tensor, sides)):  # a number of NumPy is one of Python to a tensor
        arrays = [one for one in arrays if not is_true(joined_zero(one)) and joined_zero(one) is not MAYBE]
    if not arrays and not any(map(is_tensor, sides)):
        return None
    if arrays and any(map(is_tensor, sides)):
        for one, at in zip(sides, nodes, strict=True):
            on_cpu(m, node, one, at, "")
    kind = kinds.tensor if is_tensor(left) or not arrays else kind_of(arrays[0])
    operands = [one for value, at in zip(sides, nodes, strict=True) for one in met(value, at)]
    raises = kind == kinds.tensor and meet(m, node, operands, "operation", "", scalars=not isinstance(op, ast.MatMult))
    place = Known(kinds.default_place, node) if kind != kinds.tensor else RAISED if raises else shared_place(operands)
    is_test = isinstance(op, ast.cmpop)
    of_sides = [typed_side for one in sides if (typed_side := typed_operand(one)) is not None]
    default = Known("float64", node) if arrays else default_dtype(m, node)
    word = "float" if isinstance(op, ast.Div) else "same"
    new = Known("bool", node) if is_test else result_dtype(word, of_sides, default, bool(arrays))
    dtype = joined_trait(left, DTYPE) if in_place else new
    shape = joined_trait(left, SHAPE) if in_place else shape_of_operator(left, right, isinstance(op, ast.MatMult))
    graph = computed(Known(False) if is_test or is_without_graph(m) else graph_of(operands), sides)
    zero = UNKNOWN if isinstance(op, ast.MatMult) else Known(False) if arrays else zero_of(operands)
    note_use(m, place)
    made = typed(Instance(""), kind, place=place, dtype=dtype, graph=graph, zero=zero)
    if kind != kinds.tensor:
        size_computed(made, sides if not isinstance(op, ast.MatMult) else [UNKNOWN])
    elif shape is not UNKNOWN:
        made.slots[SHAPE] = shape
        note_large(m, node, made, sides if isinstance(op, ast.MatMult) else (), PRODUCT if isinstance(op, ast.MatMult) else TOGETHER)
    if kind == kinds.tensor and not is_test and not arrays:  # with an array NumPy computes
        wide(m, node, made, dtype, place, "cast")
    _note_operator(m, node, type(op).__name__, [Argument(*one) for one in zip(sides, nodes, strict=True)], made)
    return made


def _note_operator(m: Machine, node: Any, word: str, operands: list[Argument], made: Instance | None = None) -> None:
    """Note an operator with a tensor on the Mac's GPU as a call of what it stands for, by the name of its class in `ast`."""
    name = load_kinds().operators.get(word) if not m.is_mute else None
    places = [devices_of(joined_trait(one.value, PLACE)) for one in operands if name and is_tensor(one.value)]
    if {load_kinds().gpu} in places:
        m.facts.operators.append(Call(node, (str(name),), "", None, tuple(operands), {}, False, m.context, made))


def _summed(value: Value) -> Value:
    """Return the tensors that a sum may be which begins with 0; another value as it is."""
    tensors = tuple(one for one in value.values if is_tensor(one)) if isinstance(value, OneOf) else ()
    is_sum = tensors and all(is_tensor(one) or (isinstance(one, Known) and one.value == 0) for one in alternatives_of(value))
    return value if not is_sum else tensors[0] if len(tensors) == 1 else OneOf(tensors)


def _type_of(number: Value) -> type | None:
    """Return the class of a plain number; None where that isn't known."""
    if isinstance(number, Known):
        return type(number.value)
    return int if number is WHOLE else None if number is NUMBER else float


def unary(node: ast.UnaryOp, value: Value) -> Value | None:
    """Return what `-a` and `~a` make of a tensor, an array or a named number; None for others."""
    if is_number(value) and not isinstance(node.op, ast.Not):
        return value if value is REAL else NUMBER
    if isinstance(node.op, ast.Not) or not (is_tensor(value) or is_array(value)):
        return None
    return like(value)


def item(m: Machine, node: ast.Subscript, base: Value, index: Value) -> Value | None:
    """Return `a[i]` of a tensor or an array; None for others. An index on another device than the CPU must lie with it."""
    if _is_name(base, index):
        return joined_trait(base, EACH)
    if isinstance(base, Instance) and EACH in base.slots and isinstance(index, Known) and isinstance(index.value, (int, str)):
        return base.slots.get(("item", index.value)) or base.slots.get(index.value) or base.slots[EACH]
    if isinstance(index, Known) and (inner := held_at(base, index.value)) is not None:
        return inner
    if not (is_tensor(base) or is_array(base)):
        return None
    _meet_index(m, node, (node.value, node.slice), base, index)
    if isinstance(index, OneOf) and all(isinstance(one, Known) and type(one.value) is int for one in index.values):
        index = WHOLE
    part = part_by(base, node.slice, index)
    if isinstance(shape := part_shape(m, base, node.slice, index), Known):
        part.slots |= {SHAPE: shape, ZERO: Known(not shape.value.lengths)} if is_tensor(base) else {SHAPE: shape}
    if is_tensor(part):
        lay_out(m, part, base, node.slice, index)
    return part


def write_item(m: Machine, node: ast.stmt, base: Value, index: Argument, written: Argument) -> bool:
    """Carry out `a[i] = value` for a tensor or an array, which keeps its traits; return whether it is one.

    A tensor takes values of any device, as they are copied; of one on the CPU it's noted where what is written lies on the Mac's GPU.
    """
    value, kinds = written.value, load_kinds()
    if isinstance(index.value, Known) and isinstance(index.value.value, str):
        return False  # an entry of a batch, which has the traits of its tensors
    if isinstance(base, Instance) and is_tensor(value) and _is_name(base, index.value):
        # `for name in batch: batch[name] = batch[name].to(device)`: it holds tensors by name, and each of them is now this one.
        for key in (EACH, PLACE, DTYPE):
            m.store.write(base.slots, key, like(value) if key == EACH else joined_trait(value, key))
        return True
    if is_tensor(base):
        part = like(base)
        lay_out(m, part, base, index.node, index.value)
        _note_operator(m, node, "Store", [Argument(part, node), index, written])
        _meet_index(m, node, _sides_of(node, index.node), base, index.value)
        if is_tensor(value) and devices_of(joined_trait(value, PLACE)) == {kinds.gpu} and _starts_later(index) and not m.is_mute:
            place = joined_trait(base, PLACE)
            if devices_of(place) == {kinds.default_place} and not is_assumed(place):
                shown = Operand(value, kinds.gpu, "", written.node)
                note(m, TensorEvent("written", node, (shown,), Certainty.SURE, m.context))
    elif is_array(base):
        on_cpu(m, node, value, node, "")
    return is_tensor(base) or is_array(base)


def _sides_of(statement: ast.stmt, index: ast.AST | None) -> tuple[ast.AST, ast.AST]:
    """Return what a statement writes to, and what by: `mask` and `x > 0` of `mask[x > 0] = 1`; the statement where that is elsewhere."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", statement)]
    found = (one for target in targets for one in ast.walk(target) if isinstance(one, ast.Subscript) and one.slice is index)
    return next(((one.value, one.slice) for one in found), (statement, statement))


def _is_name(base: Value, index: Value) -> bool:
    """Return whether an index is what going through a batch gives: it holds tensors by name, and this is one of the names."""
    return isinstance(base, Instance) and is_tensor(base) and EACH in base.slots and (index is KEY or index is base.slots[EACH])


def _starts_later(index: Argument) -> bool:
    """Return whether an index means one piece of memory that isn't the first of a tensor: `a[i]`, `a[i, 2]`, `a[4:]`."""
    if isinstance(index.node, ast.Slice):
        return index.node.step is None and index.node.lower is not None
    values = index.value.values() if isinstance(index.value, Items) else [index.value]
    return any(not (isinstance(one, Known) and one.value in (0, None)) for one in values) and not any(
        isinstance(one, ast.Slice) for one in (index.node.elts if isinstance(index.node, ast.Tuple) else ())
    )


def _meet_index(m: Machine, node: ast.AST, nodes: tuple[ast.AST, ast.AST], base: Value, index: Value) -> None:
    if is_tensor(base):
        elsewhere = {load_kinds().default_place}
        indices = [one for one in met(index, nodes[1]) if not one.may_be_number and one.devices != elsewhere]
        meet(m, node, [*indices, *met(base, nodes[0])], "index", "", scalars=False)
