"""What a call is given: its arguments by name, what they are in some respect, and whether that is certainly as a table asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from mpslint.facts.values import MAYBE, UNKNOWN, Argument, Call, Instance, Items, Known, Lengths, Value, alternatives_of
from mpslint.rule.comparisons import compare_all
from mpslint.tensors.meet import is_assumed
from mpslint.tensors.shapes import shape_of
from mpslint.tensors.signatures import load_signatures
from mpslint.tensors.traits import LAYOUT, PLACE, devices_of, dtype_of, is_tensor, joined_dtype, joined_trait, lies, trait

Asked = Mapping[str, Mapping[Any, tuple[tuple[str, Any], ...]]]
"""By argument or `result`, comparisons by what is compared: a dimension by its number, `rank`, `dtype`, `place`, as `_found` has them."""


def is_given(call: Call, positional: Sequence[str], asked: Asked, made_with: Sequence[str] = ()) -> bool:
    """Return whether the arguments of a call, of which a method's tensor is the first, and what its module holds are certainly as asked."""
    given = arguments_of(call, positional, made_with)
    return all(
        name in given and all(compare_all(tuple(_found(given[name], what, given)), compared) for what, compared in properties.items())
        for name, properties in asked.items()
    )


def arguments_of(call: Call, positional: Sequence[str], made_with: Sequence[str] = ()) -> dict[str, Argument]:
    """Return what a call is given, holds and makes, by name; `itself` is what a method is one of, `itself.x` what made that."""
    maker = call.receiver.call if isinstance(call.receiver, Instance) else None
    of_maker = {**dict(zip(made_with, maker.arguments, strict=False)), **maker.keywords} if maker is not None else {}
    with_ = {f"itself.{name}": argument for name, argument in of_maker.items()}
    held = {name: Argument(value, None) for name, value in getattr(call.receiver, "slots", {}).items() if isinstance(name, str)}
    own = {"itself": Argument(call.receiver, getattr(call.node.func, "value", None))} if call.receiver is not None else {}
    itself = tuple(own.values()) if is_method(call) else ()
    made = {"result": Argument(call.result, call.node)} if call.result is not None else {}
    return {**held, **with_, **own, **made, **dict(zip(positional, (*itself, *call.arguments), strict=False)), **call.keywords}


def is_method(call: Call) -> bool:
    """Return whether a call is that of a tensor's method."""
    return call.receiver is not None and is_tensor(call.receiver)


def _found(argument: Argument, what: Any, given: Mapping[str, Argument]) -> Iterator[Any]:
    """Yield what an argument is in one respect, for each of its alternatives; nothing where one of them isn't known.

    For `unlike` that are the other arguments `given` that certainly have another last dimension, for `uneven` those of which one dimension
    certainly isn't a multiple of the argument's, nor the reverse.
    """
    values = alternatives_of(argument.value)
    if what in ("strided", "apart", "repeated", "behind"):
        yield from [] if any(trait(one, LAYOUT) is MAYBE for one in values) and what != "behind" else [lies(argument.value, what)]
    elif what == "number":
        # `torch.flip(x, [0])` takes one dimension as a list
        values = tuple(one.values()[0] if isinstance(one, Items) and not one.open and len(one.slots) == 1 else one for one in values)
        numbers = [value.value for value in values if isinstance(value, Known) and isinstance(value.value, (int, float))]
        yield from numbers if len(numbers) == len(values) else ()
    elif what == "made_by":
        yield from (value.name.rpartition(".")[2] if isinstance(value, Instance) else "" for value in values)
    elif what == "filled":
        yield from map(_filling, values)
    elif what == "unlike":
        own = _widths(argument)
        yield from (name for name, other in given.items() if own and (found := _widths(other)) and own.isdisjoint(found))
    elif what == "uneven":
        yield from (name for name, other in given.items() if _is_uneven(_sizes(argument), _sizes(other)))
    elif what == "dtype":
        yield dtype_of(argument.value) or dtype_of(joined_dtype(argument.value))
    elif what == "place":
        place = argument.value if isinstance(argument.value, Known) else joined_trait(argument.value, PLACE)
        yield from devices_of(place) if not is_assumed(place) else ()
    else:
        sizes = _sizes(argument)
        if what == "rank":
            yield from map(len, sizes)
        elif what in ("elements", "rows"):
            counted = [one if what == "elements" else one[:-1] for one in sizes]
            yield from (None if None in one else prod(length or 0 for length in one) for one in counted)
        elif all(-len(one) <= what < len(one) for one in sizes):
            yield from (one[what] for one in sizes)


def _filling(value: Value) -> Any:
    """Return the number that all of a tensor is, where the call that made it names one; None else."""
    call = value.call if isinstance(value, Instance) else None
    signature = load_signatures().get(call.name) if call is not None else None
    if call is None or signature is None or "fill_value" not in signature.parameters:
        return None
    given = {**dict(zip(signature.parameters[is_method(call) :], call.arguments, strict=False)), **call.keywords}
    filling = given["fill_value"].value if "fill_value" in given else UNKNOWN
    return filling.value if isinstance(filling, Known) else None


def _sizes(argument: Argument) -> list[Lengths]:
    """Return the lengths of an argument's dimensions for each of its alternatives; nothing where one of them isn't known."""
    values = alternatives_of(argument.value)
    sizes = [shape.lengths for value in values if (shape := shape_of(value)) is not None]
    return sizes if len(sizes) == len(values) else []


def _is_uneven(own: Sequence[Lengths], others: Sequence[Lengths]) -> bool:
    """Return whether sizes certainly differ in a dimension that doesn't divide, and isn't divided by, the other's."""
    pairs = [zip(one, other, strict=False) for one in own for other in others if len(one) == len(other)]
    if not pairs or len(pairs) < len(own) * len(others):
        return False
    return all(any(type(a) is type(b) is int and a and b and max(a, b) % min(a, b) for a, b in pair) for pair in pairs)


def _widths(argument: Argument) -> set[int]:
    """Return how long the last dimension of an argument may be; nothing where that isn't known."""
    found = {*_found(argument, -1, {})}
    return found if all(isinstance(one, int) for one in found) else set()
