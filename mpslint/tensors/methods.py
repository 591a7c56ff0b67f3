"""Methods and attributes of tensors, arrays and modules that signatures can't say: moves, casts, and what tells about them."""

from __future__ import annotations

import ast

from mpslint.facts.values import UNKNOWN, Argument, Instance, Items, Known, Symbol, Value, alternatives_of, is_weak
from mpslint.tensors.arguments import GivenByName
from mpslint.tensors.dtypes import Typed, result_dtype
from mpslint.tensors.gone_through import held_at
from mpslint.tensors.graphs import without
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.layout import swap
from mpslint.tensors.loaders import put
from mpslint.tensors.meet import name_device, note_use, wide
from mpslint.tensors.modules import children, move, within
from mpslint.tensors.shapes import shape_by, shape_told
from mpslint.tensors.signatures import load_signatures
from mpslint.tensors.traits import (
    DTYPE,
    EACH,
    GRAPH,
    LAYOUT,
    NUMBER,
    PARTS,
    PLACE,
    SHAPE,
    ZERO,
    Machine,
    device_text,
    dtype_of,
    elements_of,
    is_element,
    is_module,
    is_tensor,
    joined_trait,
    like,
    part_of,
    retyped,
    trait,
    typed,
)


def moved(
    m: Machine, receiver: Instance, method: str, arguments: tuple[Argument, ...], keywords: dict[str, Argument], node: ast.Call
) -> Value | None:
    """Return what a method that moves or casts gives: another tensor, or the module itself; None for another method."""
    kinds = load_kinds()
    if method not in kinds.moves and (method not in kinds.casts or arguments):
        return None
    place, dtype = asked(m, method, arguments, keywords, node)
    if place is not None:
        name_device(m, node, place)
    if is_module(receiver):
        if place is not None or dtype is not None:
            note_wide_module(m, receiver, place, dtype, node)
            move(m, receiver, place, dtype)
        return receiver
    whole = receiver if place is None else put(receiver, place)
    own = place if not is_tensor(receiver) else None  # a PackedSequence is no batch, but moves as a tensor does
    changed = {name: one for name, one in (("place", own), ("dtype", dtype)) if one is not None}
    made = retyped(whole if isinstance(whole, Instance) else receiver, **changed)
    if place is not None and receiver.slots.get(EACH, receiver) is not receiver:  # a batch takes along what was written into it
        held = [(key, one) for key, one in receiver.written_slots().items() if isinstance(one, Instance) and is_tensor(one)]
        made.slots |= {key: retyped(one, place=place) for key, one in held}
        if m.dropped is node or not is_element(receiver):  # and a tokenizer's moves in place, as what is only moved does
            for key in (PLACE, EACH, *(key for key, _ in held)):
                m.store.write(receiver.slots, key, made.slots[key] if m.dropped is node else UNKNOWN)
    if EACH not in receiver.slots:  # a batch that moves by itself uses nothing
        note_use(m, trait(made, PLACE))
    of = "move" if place is not None else "cast"
    if wide(m, node, receiver, trait(made, DTYPE), trait(made, PLACE), of, f"{receiver.kind}.{method}"):
        made.slots[DTYPE] = UNKNOWN  # it has raised
    return made


def note_wide_module(m: Machine, module: Instance, place: Value | None, dtype: Value | None, node: ast.AST) -> None:
    """Note that a module is put on the GPU with weights, or with a parameter or buffer, of a dtype that the GPU lacks."""
    own = dtype if dtype is not None else trait(module, DTYPE)
    if dtype_of(own):
        wide(m, node, module, own, place if place is not None else trait(module, PLACE), "move", "")
    if dtype is None and place is not None and dtype_of(own) not in load_kinds().lacks:
        tensors = (part for one in within(module) for _, child in children(one) for part in elements_of(child) if is_tensor(part))
        lacking = next((one for one in tensors if dtype_of(joined_trait(one, DTYPE)) in load_kinds().lacks), None)
        if lacking is not None:
            wide(m, node, lacking, joined_trait(lacking, DTYPE), place, "move", "")


def asked(
    m: Machine, method: str, arguments: tuple[Argument, ...], keywords: dict[str, Argument], node: ast.Call
) -> tuple[Value | None, Value | None]:
    """Return the device and the dtype that a call of `.to` and its like asks for; None for what it leaves."""
    kinds = load_kinds()
    if method in kinds.casts:
        return None, Known(kinds.casts[method], node)
    said = kinds.moves[method]
    place: Value | None = Known(m.instead.get(id(node), said["place"]), node) if said else None
    dtype: Value | None = None
    given = [*(one.value for one in arguments), *(keywords[key].value for key in ("device", "dtype", "other", "tensor") if key in keywords)]
    if said:
        return (place, None)
    for value in given:
        parts = [_part(one) for one in alternatives_of(value)]
        if all(kind == "place" for kind, _ in parts):
            place = value
        elif all(kind == "dtype" for kind, _ in parts):
            value = parts[0][1]
            name = dtype_of(value) or (kinds.tensor_types.get(value.name, "") if isinstance(value, Symbol) else "")
            dtype = Known(name, getattr(value, "origin", None)) if name else UNKNOWN
        elif all(kind == "like" for kind, _ in parts):
            place, dtype = joined_trait(value, PLACE), joined_trait(value, DTYPE)
        elif all(kind != "none" for kind, _ in parts):
            place = value if isinstance(value, Instance) else UNKNOWN
            dtype = UNKNOWN if not isinstance(value, Instance) else dtype
    return place, dtype


def _part(value: Value) -> tuple[str, Value]:
    if isinstance(value, Known) and isinstance(value.value, str) and "." in value.value:  # a type of tensors, known or not
        return "dtype", Symbol(value.value, value.origin)
    if isinstance(value, Known):
        return ("place" if isinstance(value.value, (str, int)) and not isinstance(value.value, bool) else "none"), value
    if isinstance(value, Symbol) and (dtype_of(value) or value.name in load_kinds().tensor_types):
        return "dtype", value
    return ("like" if is_tensor(value) else "any"), value


def attribute(m: Machine, base: Instance, name: str, node: ast.AST | None) -> Value | None:
    """Return an attribute that tells a trait of a tensor, an array or a module; None for another."""
    kinds = load_kinds()
    if name == "device":
        return _device(base)
    if name == "dtype":
        dtype = trait(base, DTYPE)
        package = kinds.dtype_packages.get(base.kind, "")
        return Symbol(f"{package}.{dtype.value}", dtype.origin) if package and isinstance(dtype, Known) else UNKNOWN
    if is_module(base) and (inner := held_at(base, name)) is not None:
        return inner
    if is_module(base) and name in kinds.parameter_names and base.cls is None and name not in base.slots:
        return typed(
            Instance(f"{base.name}.{name}", owner=base), kinds.tensor, place=trait(base, PLACE), dtype=trait(base, DTYPE), graph=Known(True)
        )
    if name in kinds.place_questions and not is_module(base):
        place = trait(base, PLACE)
        text = device_text(place)  # of a device that the Mac lacks nothing is asked: naming it raised before
        is_there = text in (kinds.gpu, kinds.default_place)
        source = f"{kinds.tensor}.{name}" if text == kinds.gpu else ""  # on another machine it is another device
        return Known(text == kinds.place_questions[name], node, is_weak(place), source) if is_there else UNKNOWN
    moved_to = base.slots.get(PLACE) or (base.slots.get(PARTS) if f"{kinds.tensor}.{name}" not in load_signatures() else None)
    if not base.kind and base.cls is None and moved_to is not None:
        part = part_of(base, f"{base.name}.{name}")
        base.slots[name] = part
        return part
    if not base.kind or is_module(base):
        return None
    if name == "shape":
        told = shape_told(base)
        return shape_of(base) if told is UNKNOWN else told
    if name in kinds.views:
        view = like(base, graph=without(trait(base, GRAPH)) if name in kinds.views_without_graph else None)
        own, before = load_signatures().get(f"torch.{name}"), trait(base, DTYPE)
        if own is not None and isinstance(before, Known):  # the real numbers of complex ones
            view.slots[DTYPE] = result_dtype(own.dtype, [Typed(before.value, 2, before)], UNKNOWN, False)
        if name in kinds.views_swapped:
            signature, given = load_signatures()[f"{kinds.tensor}.{name}"], GivenByName({"input": Argument(base, node)}, False)
            view.slots[SHAPE] = shape_by(signature, given)
            view.slots.pop(LAYOUT, None)
            swap(view, base, signature, given)
        return view
    if name == "requires_grad":
        graph = trait(base, GRAPH)
        return Known(bool(graph.value), graph.origin, graph.weak) if isinstance(graph, Known) else UNKNOWN
    if EACH in base.slots and f"{base.kind}.{name}" not in load_signatures() and not name.startswith("_"):
        part = like(trait(base, EACH))  # of a group of tensors, such as a library's model gives
        part.name, part.owner = f"{base.name}.{name}", base
        if name in kinds.scalar_parts:
            part.slots[ZERO] = Known(True)
        base.slots[name] = part
        return part
    return None


def shape_of(value: Instance) -> Value:
    """Return the lengths of a tensor's or an array's dimensions: numbers that aren't known, at least one where it has dimensions."""
    zero = trait(value, ZERO)
    if isinstance(zero, Known):
        return Items("tuple", {} if zero.value else {0: NUMBER}, None, not zero.value, NUMBER)
    return UNKNOWN


def _device(base: Instance) -> Value | None:
    """Return the device of a tensor or a module; None where what a library does to it isn't seen, or naming its device raised before."""
    place, kinds = trait(base, PLACE), load_kinds()
    if not isinstance(place, Known):
        return place
    is_there = device_text(place) in (kinds.gpu, kinds.default_place) and not (place.weak and place.origin is not None and is_module(base))
    return Known(place.value, place.origin, place.weak, kinds.device_class) if is_there else None
