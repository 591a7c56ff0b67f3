"""Parameters: made of tensors, and given by modules, where one of them stands for all."""

from __future__ import annotations

from mpslint.facts.values import UNKNOWN, Argument, Instance, Items, Known, Value
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.modules import MOST_MODULES, children, is_without_weights
from mpslint.tensors.signatures import load_signatures
from mpslint.tensors.traits import (
    DTYPE,
    EACH,
    LAYOUT,
    NUMBER,
    PARTS,
    PLACE,
    SHAPE,
    WEIGHTS,
    ZERO,
    elements_of,
    is_module,
    is_tensor,
    joined_trait,
    layer_below,
    trait,
    typed,
)


def as_parameter(data: Value, asked: Argument | None, made: Instance) -> Value:
    """Make what a call gives a parameter of a tensor."""
    graph = Known(True) if asked is None else asked.value if isinstance(asked.value, Known) else UNKNOWN
    dtype, place = joined_trait(data, DTYPE), joined_trait(data, PLACE)
    made.slots.update({key: joined_trait(data, key) for key in (SHAPE, LAYOUT)})
    return typed(made, load_kinds().tensor, place=place, dtype=dtype, graph=graph, zero=joined_trait(data, ZERO))


def parameters_of(module: Instance) -> Instance:
    """Return what going through the parameters of a module gives: one of them stands for all."""
    one = Instance(f"{module.name}.parameters[]", owner=module)
    typed(one, load_kinds().tensor, place=_first_place(module), dtype=trait(module, DTYPE), graph=Known(True), zero=Known(False))
    made = Instance(f"{module.name}.parameters", owner=module)
    made.slots[EACH] = one
    return made


def weights_by(module: Instance, way: str, made: Instance) -> Instance:
    """Return what a method gives that gives the weights of a module: each, pairs of a name and each, or a dict whose parts they are."""
    weights = parameters_of(module)
    if way == "each":
        return weights
    if way == "pairs":
        made.slots[EACH] = Items("tuple", {0: NUMBER, 1: weights.slots[EACH]})
    else:
        made.slots[PARTS] = _first_place(module)
    return made


def has_weights(module: Instance, above: frozenset[int] = frozenset()) -> bool:
    """Return whether a module, or one within it, has or may have parameters or buffers."""
    held = [part for _, one in children(module) for part in elements_of(one) if id(part) not in above]
    own = load_signatures().get(module.name) or layer_below(module.cls)
    call = module.call
    if own is not None and own.registered and call is not None:
        given = {**dict(zip(own.parameters, call.arguments, strict=False)), **call.keywords}
        held += [given[name].value for name in own.registered if name in given and is_tensor(given[name].value)]
    if not is_without_weights(module) or (own is not None and own.inside and not held):
        return True
    inside = above | {id(module)}
    return any(not (isinstance(one, Instance) and is_module(one)) or has_weights(one, inside) for one in held)


def _first_place(module: Instance) -> Value:
    """Return the device of the first weights within a module."""
    seen: set[int] = set()
    waiting: list[Value] = [module]
    while waiting and len(seen) < MOST_MODULES:
        one = waiting.pop(0)
        if not isinstance(one, Instance) or id(one.slots) in seen:
            continue
        seen.add(id(one.slots))
        weights = trait(one, WEIGHTS)
        if one is not module and (is_tensor(one) or (isinstance(weights, Known) and weights.value)):
            return trait(one, PLACE)
        waiting += [child for _, child in children(one)] if is_module(one) else []
    return trait(module, PLACE)
