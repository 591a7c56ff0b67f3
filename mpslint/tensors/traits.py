"""Traits: what a tensor, an array or a module is, kept in the slots of its value, so that branches undo and merge them like attributes."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from collections.abc import Mapping as Mapping_
from typing import Any, Protocol

from mpslint.core.versions import Version
from mpslint.facts.facts import Facts
from mpslint.facts.joined import join_all, same
from mpslint.facts.values import (
    LENGTHS,
    TRAIT,
    UNKNOWN,
    Class,
    Context,
    Frame,
    Function,
    FunctionNode,
    Instance,
    Items,
    Known,
    Mapping,
    OneOf,
    Symbol,
    Unknown,
    Value,
    alternatives_of,
    is_trait,
)
from mpslint.tensors.kinds import DTYPES, load_kinds
from mpslint.tensors.signatures import Signature, load_signatures

PLACE = (TRAIT, "place")
"""The device: the text of one, the value that names it, or Unknown."""
DTYPE = (TRAIT, "dtype")
GRAPH = (TRAIT, "graph")
"""Whether it carries a graph, or is a parameter; of a module whether its weights require grad, where the program says so."""
TRAINING = (TRAIT, "training")
"""Whether a module is in training mode, where the program says so."""
ZERO = (TRAIT, "zero")
"""Whether it has no dimensions; of an array MAYBE where it may be a scalar."""
DIMENSIONS = (TRAIT, "dimensions")
"""How many dimensions an array has."""
HOOKED = (TRAIT, "hooked")
"""Whether a function of the program is called with what a module takes and gives, which isn't followed."""
IN_PLACE = (TRAIT, "in place")
"""Whether something unknown was moved by a statement, as only a module is: what turns out to be a tensor stayed where it was."""
PARTS = (TRAIT, "parts")
"""The device of what an unknown object gives: it was made for one, or moved (a batch that is an object moves itself)."""
EACH = (TRAIT, "each")
"""What going through it gives."""
LAYOUT = (TRAIT, "layout")
"""How a view of another tensor lies in memory: `swapped`, with its dimensions in another order, `apart`, with gaps between numbers, or
`repeated`, with one number in several places."""
SHAPE = (TRAIT, "shape")
"""How long its dimensions are, as `shapes.Shape`."""
WEIGHTS = (TRAIT, "weights")
"""Whether a module has parameters or buffers of its own."""

SWAPPED, APART, REPEATED = Known("swapped"), Known("apart"), Known("repeated")
OFFSET = (TRAIT, "offset")
"""Whether a view of a tensor begins, or may begin, behind the first of its numbers."""
NUMBER = Unknown("number")
"""A plain number that isn't known: it has no device."""
WHOLE, REAL = Unknown(NUMBER.reason), Unknown(NUMBER.reason)
"""An `int`, and a `float`, of Python."""
KEY = Unknown(NUMBER.reason)
"""The name of an entry of a batch, whichever it is: it has no device either."""
NOWHERE = frozenset({""})
"""The devices of what isn't known."""
OF_ARRAY = Unknown("array")
"""The dtype of an array that isn't known: float64 more often than not."""


MAYBE = Unknown("scalar")
"""Whether an element of an array has no dimensions, where it isn't known how many the array has."""


class Machine(Protocol):
    """What traits need of the interpreter."""

    facts: Facts
    context: Context
    is_silent: bool
    instead: Mapping_[int, object]
    project: Any
    versions: Mapping_[str, Version]
    module: Frame
    store: Any
    functions: dict[int, Function]
    dropped: ast.AST | None

    @property
    def is_mute(self) -> bool:
        """Whether what happens to tensors isn't recorded."""

    @property
    def calls(self) -> Any:
        """What follows calls of the program's functions."""

    def looked_at(self, node: ast.expr) -> Value:
        """Return what an expression is, without noting anything."""


def trait(value: Value, key: tuple[str, str]) -> Value:
    """Return a trait of a value; Unknown for a value without it."""
    return value.slots.get(key, UNKNOWN) if isinstance(value, Instance) else UNKNOWN


def is_kind(value: Value, kinds: Collection[str]) -> bool:
    """Return whether a value is certainly of one of some classes with traits, whichever of its alternatives it is."""
    if isinstance(value, Instance):  # asked of each value of a program
        return value.kind in kinds
    return isinstance(value, OneOf) and all(isinstance(one, Instance) and one.kind in kinds for one in value.values)


def kind_of(value: Value) -> str:
    """Return the class of the first alternative of a value that has one with traits, '' where none has."""
    return next((one.kind for one in alternatives_of(value) if isinstance(one, Instance) and one.kind), "")


def is_tensor(value: Value) -> bool:
    """Return whether a value is certainly a tensor."""
    return is_kind(value, load_kinds().tensors)


def asked_for_tensor(value: Value) -> bool | None:
    """Return whether a value is a tensor, None where that isn't known: what has traits of something else is none, nor what Python makes."""
    if isinstance(value, OneOf):
        answers = set(map(asked_for_tensor, value.values))
        return answers.pop() if len(answers) == 1 else None
    if isinstance(value, Instance):
        return None if not value.kind else value.kind in load_kinds().tensors
    return False if isinstance(value, (Items, Mapping)) or (isinstance(value, Known) and not value.source) else None


def is_array(value: Value) -> bool:
    """Return whether a value is certainly an array."""
    return is_kind(value, load_kinds().arrays)


def has_dimensions(value: Value) -> bool:
    """Return whether a value is an array, a data frame or a series, and certainly no scalar."""
    zero = joined_zero(value)
    return is_array(value) and isinstance(zero, Known) and not zero.weak and not zero.value


def is_module(value: Value) -> bool:
    """Return whether a value is certainly a module."""
    return is_kind(value, load_kinds().modules)


def joined_trait(value: Value, key: tuple[str, str]) -> Value:
    """Return a trait of a value that may be one of several."""
    return join_all([trait(one, key) for one in value.values]) if isinstance(value, OneOf) else trait(value, key)


def joined_dtype(value: Value) -> Value:
    """Return the dtype of a value that may be one of several; of what is an array, or float64 for one of them, it says that it may be."""
    found = joined_trait(value, DTYPE)
    is_wide = found is UNKNOWN and any(
        trait(one, DTYPE) is OF_ARRAY or dtype_of(trait(one, DTYPE)) in load_kinds().lacks for one in alternatives_of(value)
    )
    return OF_ARRAY if found is UNKNOWN and (is_wide or is_array(value)) else found


def joined_zero(value: Value) -> Value:
    """Return whether a value that may be one of several has no dimensions; MAYBE for an array that may be a scalar."""
    zeros = [trait(one, ZERO) for one in alternatives_of(value)]
    is_alike = all(isinstance(one, Known) and is_true(one) == is_true(zeros[0]) for one in zeros)
    may_be = not is_alike and is_array(value) and any(one is MAYBE or is_true(one) for one in zeros)
    return MAYBE if may_be else joined_trait(value, ZERO)


def layout_of(value: Value) -> str:
    """Return how a tensor certainly lies in memory, where that isn't in one piece: `swapped`, `apart` or `repeated`; else ''."""
    found = joined_trait(value, LAYOUT)
    return str(found.value) if isinstance(found, Known) else ""


def lies(value: Value, how: str) -> bool:
    """Return whether a tensor certainly isn't in one piece (`strided`: it is swapped or `apart`), has a number in several places
    (`repeated`), or begins behind the first number of its memory (`behind`)."""
    layout = layout_of(value)
    if how == "behind":
        return is_true(joined_trait(value, OFFSET))
    return layout == how or (how == "strided" and layout in ("swapped", "apart"))


def typed(
    made: Instance, kind: str, *, place: Value = UNKNOWN, dtype: Value = UNKNOWN, graph: Value = UNKNOWN, zero: Value = UNKNOWN
) -> Instance:
    """Give a value that was just made its class and traits, and return it."""
    made.kind = kind
    for key, value in ((PLACE, place), (DTYPE, dtype), (GRAPH, graph), (ZERO, zero)):
        if value is not UNKNOWN:
            made.slots[key] = value
    return made


def retyped(old: Instance, **changed: Value) -> Instance:
    """Return another value with the traits of one, but for those that are given: what a move or a cast makes of it."""
    made = Instance(old.name, old.call, dict(old.slots), owner=old, kind=old.kind)
    keys = {"place": PLACE, "dtype": DTYPE, "graph": GRAPH, "zero": ZERO}
    if made.slots.get(LAYOUT) is not SWAPPED:
        made.slots.pop(LAYOUT, None)  # a copy has no others between its numbers, and each once
    made.slots.pop(OFFSET, None)
    if isinstance(shape := made.slots.get(SHAPE), Known):
        made.slots[SHAPE] = Known(shape.value.copied(), shape.origin, shape.weak)
    for name, value in changed.items():
        made.slots[keys[name]] = value
    return made


def device_text(value: Value) -> str:
    """Return the device that a value certainly names, an index of 0 left out; '' where it isn't known."""
    if isinstance(value, Known) and isinstance(value.value, str):
        return value.value.removesuffix(":0")
    return ""


GIVEN_BACK = "given back"
"""The source of the place of what a library had on the GPU, and moves back to the CPU in the end."""


def devices_of(value: Value) -> frozenset[str]:
    """Return the devices that a value may name; with '' among them where one isn't known."""
    if value is UNKNOWN:
        return NOWHERE
    return frozenset(device_text(one) for one in alternatives_of(value))


def dtype_of(value: Value) -> str:
    """Return the dtype that a value certainly names or is, '' where it isn't known."""
    if isinstance(value, Symbol):
        return load_kinds().dtype_named(value.name)
    if isinstance(value, Known) and isinstance(value.value, str):
        text = value.value.rpartition(".")[2]
        return text if text in DTYPES else load_kinds().dtypes.get(f"numpy.{text}", "") or load_kinds().dtypes.get(f"builtins.{text}", "")
    return ""


def elements_of(value: Value) -> Iterator[Value]:
    """Yield a value, or where it holds others (a list, a dict) those."""
    for one in alternatives_of(value):
        inner = held_in(one)
        if inner is None:
            yield one
        for part in inner or ():
            yield from elements_of(part)


def held_in(value: Value) -> list[Value] | None:
    """Return what a list, a dict, or a tuple that a function of a library gives holds; None for another value."""
    if isinstance(value, Items):
        return [*value.values(), *([value.each] if value.each is not None else [])]
    if isinstance(value, Mapping):
        return [entry.value for entry in value.slots.values()]
    if isinstance(value, Instance) and value.kind in ("", "builtins.tuple") and ("item", 0) in value.slots:
        return [inner for key, inner in value.slots.items() if isinstance(key, tuple) and key[0] == "item"]
    return None


def part_of(value: Instance, name: str) -> Instance:
    """Return a part of something unknown: an attribute, an item, what going through it gives. It lies where its whole does."""
    place = value.slots.get(PLACE) or value.slots.get(PARTS)
    return Instance(name, owner=value, slots={} if place is None else {PLACE: place})


def is_element(value: Instance) -> bool:
    """Return whether an unknown value is what a round of a loop gets of something unknown."""
    return not value.kind and value.cls is None and value.call is None and (not value.name or value.name.endswith("[]"))


def has_traits(value: Value) -> bool:
    """Return whether a value is, or may be, a tensor, an array or a module, or something that was moved."""
    return any(isinstance(one, Instance) and (one.kind or PLACE in one.slots) for one in alternatives_of(value))


def is_kept(key: object, value: object) -> bool:
    """Return whether what a round of a loop writes to an object stands for all that the rounds make: traits, what has some, and functions.

    What is moved stays moved, and each of the modules of a list has its own modules.
    """
    return is_trait(key) or isinstance(value, Function) or (isinstance(value, (Instance, OneOf)) and has_traits(value))


def as_one(value: Value) -> Value:
    """Return one tensor or array for several of which a value is one, with what they have in common; another value as it is."""
    if not isinstance(value, OneOf):
        return value
    ones = [one for one in value.values if isinstance(one, Instance) and one.cls is None and (one.kind or PLACE in one.slots)]
    kinds = {one.kind for one in ones} - {""}
    if len(ones) < len(value.values) or len(kinds) > 1 or kinds & load_kinds().modules:
        return value
    made = like(value)
    made.kind = "".join(kinds)
    return made


def like(value: Value, zero: Value | None = None, graph: Value | None = None) -> Instance:
    """Return another value with the traits of a tensor or an array, but for those that are given."""
    first = next(one for one in alternatives_of(value) if isinstance(one, Instance))
    made = Instance(f"{first.name}[]" if first.name else "", owner=first)
    for key in (LENGTHS, DIMENSIONS, SHAPE) if zero is None else (LENGTHS,):
        if (found := joined_trait(value, key)) is not UNKNOWN:
            made.slots[key] = found
    graph = joined_trait(value, GRAPH) if graph is None else graph
    zero = joined_zero(value) if zero is None else zero
    return typed(made, first.kind, place=joined_trait(value, PLACE), dtype=joined_dtype(value), graph=graph, zero=zero)


def is_module_class(cls: Class) -> bool:
    """Return whether objects of a class of the program are modules."""
    return not load_kinds().module_bases.isdisjoint(cls.outside_bases()) or layer_below(cls) is not None


def layer_below(cls: Class | None) -> Signature | None:
    """Return the signature of the layer of a library that a class of the program derives from; None where it derives from none."""
    signatures = load_signatures()
    found = (signatures[name] for name in (cls.outside_bases() if cls is not None else ()) if name in signatures)
    return next((one for one in found if one.is_module), None)


def is_module_method(m: Machine, node: FunctionNode) -> bool:
    """Return whether a function of the program is a method of a module."""
    function = m.functions.get(id(node))
    return function is not None and function.cls is not None and is_module_class(function.cls)


def is_number(value: Value) -> bool:
    """Return whether a value is a plain number that isn't known."""
    return value is NUMBER or value is WHOLE or value is REAL or (isinstance(value, Symbol) and value.name in load_kinds().numbers)


def is_true(value: Value) -> bool:
    """Return whether a trait is certainly true."""
    return isinstance(value, Known) and bool(value.value)


def is_none(value: Value) -> bool:
    """Return whether a value is certainly None."""
    return isinstance(value, Known) and value.value is None


def covers(known: Value, value: Value) -> bool:
    """Return whether all that a value may be is among what another may be: tensors by their class and traits."""
    return all(any(_is_alike(one, other) for other in alternatives_of(known)) for one in alternatives_of(value))


def without_shape(value: Value) -> Value:
    """Return tensors, each with all that is known of it but how long its dimensions are, where these aren't the same."""
    if isinstance(joined_trait(value, SHAPE), Known):
        return value
    found: list[Value] = []
    for one in alternatives_of(value):
        other = retyped(one) if isinstance(one, Instance) and SHAPE in one.slots and one.cls is None else one
        if isinstance(other, Instance) and other is not one:
            del other.slots[SHAPE]
        found += [] if any(_is_alike(other, known) for known in found) else [other]
    return found[0] if len(found) == 1 else OneOf(tuple(found))


def _is_alike(a: Value, b: Value) -> bool:
    if same(a, b):
        return True
    if isinstance(a, Items) and isinstance(b, Items):
        is_like = a.kind == b.kind and not (a.open or b.open) and a.slots.keys() == b.slots.keys()
        return is_like and all(covers(one, b.slots[key]) for key, one in a.slots.items())
    if not (isinstance(a, Instance) and isinstance(b, Instance) and a.kind == b.kind and a.cls is b.cls and (a.kind or PLACE in a.slots)):
        return False
    keys = [key for key in {*a.slots, *b.slots} if is_trait(key) and key != EACH and (key != SHAPE or key in b.slots)]
    return all(covers(b.slots.get(key, UNKNOWN), a.slots.get(key, UNKNOWN)) for key in keys)
