"""What a function with a signature makes of the tensors and arrays that it is given, and what goes wrong on the way."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from mpslint.facts.joined import join_all
from mpslint.facts.values import RAISED, UNKNOWN, Argument, Instance, Items, Known, Value, alternatives_of, is_weak
from mpslint.tensors.arguments import GivenByName
from mpslint.tensors.dimensions import dimensions_of, size_argument, size_computed, size_reduced, sized
from mpslint.tensors.dtypes import dtype_of_data, result_dtype, typed_operand
from mpslint.tensors.graphs import computed, without
from mpslint.tensors.kinds import DTYPES, load_kinds
from mpslint.tensors.layout import repeat, swap
from mpslint.tensors.meet import Met, meet, met, name_device, note_use, on_cpu, shared_place, wide
from mpslint.tensors.memory import note_large
from mpslint.tensors.shapes import shape_by, shape_told
from mpslint.tensors.signatures import Signature, with_arguments
from mpslint.tensors.state import default_dtype, default_place, is_without_graph
from mpslint.tensors.traits import (
    DTYPE,
    EACH,
    GRAPH,
    LAYOUT,
    MAYBE,
    NUMBER,
    OF_ARRAY,
    PLACE,
    REAL,
    REPEATED,
    SHAPE,
    SWAPPED,
    WHOLE,
    ZERO,
    Machine,
    dtype_of,
    elements_of,
    is_array,
    is_none,
    is_number,
    is_tensor,
    is_true,
    joined_trait,
    joined_zero,
    layout_of,
    like,
    typed,
)


def apply(m: Machine, signature: Signature, given: GivenByName, node: ast.Call, result: Instance) -> Value:
    """Return what a call of a function with a signature gives: its result with traits, or a plain value; notes what goes wrong."""
    kinds = load_kinds()
    variant = signature
    if signature.with_tensors or signature.with_arguments:
        tensors = frozenset(name for name, one in given.values.items() if is_tensor(one.value))
        variant = with_arguments(signature, frozenset(name for name in given.values if _is_set(given.value(name))), tensors)
    if variant is not signature and variant.parameters != signature.parameters:
        given = GivenByName({**dict(zip(variant.parameters, given.values.values(), strict=False))}, given.is_open)
    signature = variant
    operands = [one for argument in given.all(signature.operands) for one in met(argument.value, argument.node)]
    raises = _check_operands(m, signature, given, operands, node)
    if (written := given.value("out")) is not None:
        return written
    if signature.in_place or signature.gives == "self":
        changed = given.first.value if given.first is not None else UNKNOWN
        if signature.shape not in ("", "same", "all") and isinstance(changed, Instance) and SHAPE in changed.slots:
            m.store.write(changed.slots, SHAPE, shape_by(signature, given))
        return changed
    if signature.gives_back:
        return _given_back(signature, [argument for argument in (*given.values.values(), *given.rest) if argument.keyword is None], node)
    if signature.gives in ("python", "none"):
        told = shape_told(given.first.value, given.value("dim")) if signature.shape == "told" and given.first is not None else UNKNOWN
        return Known(None, node) if signature.gives == "none" else NUMBER if told is UNKNOWN else told
    if not signature.gives and not signature.parts:
        return result
    kind = signature.gives
    if signature.wraps and given.first is not None and isinstance(one := given.first.value, Instance) and is_array(one):
        kind = one.kind
    place, graph, zero = (
        RAISED if raises else _place(m, signature, given, operands, node),
        _graph(m, signature, given, operands),
        _zero(signature, given, operands),
    )
    note_use(m, place)
    shape = shape_by(signature, given)
    if signature.parts:
        classes = signature.part_classes or (kind,) * len(signature.parts)
        give_parts(result, signature.parts, classes, lambda word: _dtype(m, signature, word, given, node), place, graph, zero)
        if shape is not UNKNOWN and isinstance(first := result.slots["item", 0], Instance):
            first.slots[SHAPE] = shape
        for number, name in enumerate(signature.places):
            if name and isinstance(part := result.slots["item", number], Instance):
                part.slots[PLACE] = Known(name, node)
        return result
    if kind in kinds.arrays:
        _size(signature, given, result)
        zero = joined_zero(result) if ZERO in result.slots else zero
    if signature.scalar and is_true(zero):
        return REAL if signature.scalar == "builtins.float" else WHOLE
    made = Instance(f"{result.name}[]", owner=result) if signature.each else result
    named = _named_dtype(signature, given)
    dtype = _dtype(m, signature, signature.dtype, given, node) if named is None else named
    typed(made, kind, place=place, dtype=dtype, graph=_of_dtype(graph, dtype), zero=zero)
    if shape is not UNKNOWN:
        made.slots[SHAPE] = shape
    is_kept = signature.layout == "kept" and "memory_format" not in given.values and not given.is_open
    if given.first is not None and signature.layout == SWAPPED.value:
        swap(made, given.first.value, signature, given)
    elif given.first is not None and signature.layout == REPEATED.value:
        repeat(made, given.first.value)
    elif given.first is not None and is_kept and layout_of(given.first.value) == SWAPPED.value:
        made.slots[LAYOUT] = SWAPPED
    if kind == kinds.tensor:
        if wide(m, node, made, dtype, place, "make" if signature.makes else "cast", signature.name):
            made.slots[DTYPE] = UNKNOWN  # it has raised
        note_large(m, node, made, [one.value for one in given.all(signature.operands)], signature)
    if signature.each:
        result.slots[EACH] = made
    return result


def give_parts(
    group: Instance, parts: Sequence[Any], classes: Sequence[str], dtype_by: Callable[[Any], Value], place: Value, graph: Value, zero: Value
) -> None:
    """Give a tuple its tensors, those in a tuple within it included; `dtype_by` gives the dtype of one by the word that a signature has."""
    for number, word in enumerate(parts):
        part = Instance(f"{group.name}[]", owner=group)
        if isinstance(word, tuple):
            give_parts(part, word, tuple(classes[:1]) * len(word), dtype_by, place, graph, zero)
        elif classes[number]:
            dtype = dtype_by(word)
            typed(part, classes[number], place=place, dtype=dtype, graph=_of_dtype(graph, dtype), zero=zero)
        group.slots[("item", number)] = part
    group.kind = "builtins.tuple"


def _is_set(value: Value | None) -> bool:
    return value is not None and not (isinstance(value, Known) and value.value is False)


def _given_back(signature: Signature, arguments: Sequence[Argument], node: ast.Call) -> Items:
    """Return the arguments that a function gives back in pieces."""
    pieces = [like(one.value, UNKNOWN) if is_tensor(one.value) or is_array(one.value) else UNKNOWN for one in arguments]
    return Items("list", dict(enumerate(piece for piece in pieces for _ in range(signature.gives_back))), node)


def _check_operands(m: Machine, signature: Signature, given: GivenByName, operands: list[Met], node: ast.Call) -> bool:
    """Note what operands meet that don't go together, and what must lie on the CPU and doesn't; return whether that surely raises."""
    kinds = load_kinds()
    makes_array = signature.gives in kinds.arrays or signature.scalar or signature.name.split(".")[0] not in kinds.tensor.split(".")
    for argument in given.all(signature.on_cpu):
        for one in elements_of(argument.value):
            on_cpu(m, node, one, argument.node, signature.name, "numpy" if makes_array else "host", needs_no_graph=bool(makes_array))
    return not makes_array and meet(m, node, operands, "operation", signature.name, signature.scalars)


def _place(m: Machine, signature: Signature, given: GivenByName, operands: list[Met], node: ast.AST) -> Value:
    """Return the device of a result."""
    kinds = load_kinds()
    if signature.gives in kinds.arrays:
        return Known(kinds.default_place, node)
    if signature.place:
        return Known(signature.place, node)
    named = given.value(signature.place_argument) if signature.place_argument else None
    if named is not None:
        name_device(m, node, named)
        return named
    if given.is_open and signature.place_argument:
        return UNKNOWN
    kept = given.value(signature.keeps_place) if signature.keeps_place else None
    if kept is not None and is_tensor(kept):
        return joined_trait(kept, PLACE)
    if signature.makes:
        return default_place(m, node)
    return shared_place(operands)


def _named_dtype(signature: Signature, given: GivenByName) -> Value | None:
    """Return the dtype that an argument names; None where none does."""
    named = given.value(signature.dtype_argument) if signature.dtype_argument else None
    if named is None and signature.dtype_argument and dtype_of(size := given.value(signature.rest) or UNKNOWN):
        named = size  # `x.view(torch.int32)`
    if named is None:
        return UNKNOWN if given.is_open and signature.dtype_argument else None
    found = [(dtype_of(one), one) for one in alternatives_of(named)]
    return join_all([Known(name, getattr(one, "origin", None), is_weak(one)) if name else UNKNOWN for name, one in found])


def _dtype(m: Machine, signature: Signature, word: str, given: GivenByName, node: ast.AST) -> Value:
    """Return the dtype of a result by the word that a signature has for it."""
    kinds = load_kinds()
    if not word:
        return UNKNOWN
    if word in DTYPES:
        return default_dtype(m, node) if signature.makes and word == kinds.default_dtype else Known(word, node)
    is_of_arrays = signature.gives in kinds.arrays
    if word in ("data", "array", "number"):
        default = Known("float64", node) if is_of_arrays else default_dtype(m, node)
        named = given.all(signature.parameters) if signature.data == "*" else given.all([signature.data] if signature.data else [])
        data = [one.value for one in named] if signature.data else [given.first.value] if given.first is not None else []
        whole = data[0] if len(data) == 1 else Items("list", dict(enumerate(data)), open=not data)
        found = dtype_of_data(whole, default)
        if word == "number" and dtype_of(found) == "float64":
            return default  # a number of NumPy's counts as one of Python's
        return OF_ARRAY if word == "array" and found is UNKNOWN else found
    names = (signature.operands or signature.parameters)[:1] if word == "first" else signature.operands
    values = [one for argument in given.all(names) for one in elements_of(argument.value)]
    operands = [one for value in values if (one := typed_operand(value)) is not None]
    return result_dtype(word, operands, Known("float64", node) if is_of_arrays else default_dtype(m, node), is_of_arrays)


def _graph(m: Machine, signature: Signature, given: GivenByName, operands: list[Met]) -> Value:
    """Return whether a result carries a graph."""
    asked = given.values.get("requires_grad")
    if asked is not None and signature.place_argument:
        return asked.value if isinstance(asked.value, Known) else UNKNOWN
    is_lost = not signature.graph or signature.makes or is_without_graph(m)
    return computed(Known(False) if is_lost else graph_of(operands), [one.value for one in operands])


def _of_dtype(graph: Value, dtype: Value) -> Value:
    """Return whether what has a dtype carries a graph: whole numbers never do."""
    name = dtype_of(dtype)
    return without(graph) if name and DTYPES[name][0] < DTYPES["float32"][0] else graph


def graph_of(operands: Sequence[Met]) -> Value:
    """Return whether what is computed of operands carries a graph: it does if one of them does."""
    graphs = [joined_trait(one.value, GRAPH) for one in operands if not one.may_be_number]
    carrying = [one for one in graphs if is_true(one)]
    if carrying:
        return next((one for one in carrying if not is_weak(one)), carrying[0])
    is_known = all(isinstance(one, Known) for one in graphs) and not any(one.may_be_number for one in operands)
    return Known(False) if is_known else UNKNOWN


def _zero(signature: Signature, given: GivenByName, operands: list[Met]) -> Value:
    """Return whether a result has no dimensions."""
    said, _, unless = signature.zero.partition("unless ")
    if unless:
        if given.is_open or given.value(unless) is not None or _is_set(given.value("keepdim")):
            return UNKNOWN
        return Known(True) if not said.strip() else zero_of(operands)
    if said in ("always", "never"):
        return Known(said == "always")
    if said == "maybe":
        return MAYBE
    if said == "reduced":
        reduction = given.value("reduction")
        return Known(True) if reduction is None else Known(reduction.value != "none") if isinstance(reduction, Known) else UNKNOWN
    if said == "same":
        return joined_trait(given.first.value, ZERO) if given.first is not None else UNKNOWN
    if said == "all" or (signature.scalars and not said):
        return zero_of(operands)
    return _zero_of_made(signature, given) if signature.makes else UNKNOWN


def _size(signature: Signature, given: GivenByName, made: Instance) -> None:
    """Give an array that is made its dimensions, where the signature says something of them."""
    said, _, unless = signature.zero.partition("unless ")
    first = given.first.value if given.first is not None else UNKNOWN
    if signature.size.isdecimal():
        sized(made, int(signature.size), Known(False))
    elif given.value(signature.size) is not None:
        sized(made, size_argument([one.value for one in given.all([signature.size])]), MAYBE)
    elif said.strip() == "all" and (given.is_open or list(given.all(signature.operands))):
        size_computed(made, [one.value for one in given.all(signature.operands) if not is_none(one.value)])
    elif said == "same" and (dimensions := dimensions_of(first)) is not None:
        sized(made, dimensions, UNKNOWN)
    elif unless and given.value(unless) is not None:
        size_reduced(made, first, given.value(unless))
    elif unless:
        sized(made, 0, Known(True))


def zero_of(operands: Sequence[Met]) -> Value:
    """Return whether what is computed element by element has no dimensions: it has some if one operand has."""
    zeros = [one.zero for one in operands if not one.may_be_number]
    if any(isinstance(one, Known) and not one.value for one in zeros):
        return Known(False)
    is_known = all(isinstance(one, Known) for one in zeros) and not any(one.may_be_number for one in operands)
    return Known(True) if is_known else UNKNOWN


def _zero_of_made(signature: Signature, given: GivenByName) -> Value:
    """Return whether a new tensor has no dimensions: one of a number has none, one of a list or of a size does."""
    value = given.first.value if given.first is not None else UNKNOWN
    is_of_data = signature.dtype == "data" and not signature.data
    if isinstance(value, Items):
        return Known(not is_of_data and not value.slots and not value.open)
    if isinstance(value, Known):
        return Known(is_of_data and not isinstance(value.value, str))
    if is_of_data:
        return Known(True) if is_number(value) else joined_trait(value, ZERO)
    return Known(False) if is_number(value) or is_weak(value) else UNKNOWN
