"""Parameters: made of tensors, and given by modules, where one of them stands for all."""

from __future__ import annotations

from mpslint.facts.values import UNKNOWN, Argument, Instance, Items, Known, Value
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.modules import MOST_MODULES, children, is_without_weights
from mpslint.tensors.traits import DTYPE, EACH, NUMBER, PARTS, PLACE, WEIGHTS, ZERO, is_module, is_tensor, joined_trait, trait, typed


def as_parameter(data: Value, asked: Argument | None, made: Instance) -> Value:
    """Make what a call gives a parameter of a tensor."""
    graph = Known(True) if asked is None else asked.value if isinstance(asked.value, Known) else UNKNOWN
    dtype, place = joined_trait(data, DTYPE), joined_trait(data, PLACE)
    return typed(made, load_kinds().tensor, place=place, dtype=dtype, graph=graph, zero=joined_trait(data, ZERO))


def parameters_of(module: Instance) -> Instance:
    """Return what going through the parameters of a module gives: one of them stands for all."""
    first = _first_place(module)
    one = typed(
        Instance(f"{module.name}.parameters[]", owner=module),
        load_kinds().tensor,
        place=first,
        dtype=trait(module, DTYPE),
        graph=Known(True),
        zero=Known(False),
    )
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


def has_weights(module: Instance) -> bool:
    """Return whether a module, or one within it, has parameters or buffers, as far as that is known."""
    return not is_without_weights(module) or _first_weights(module) is not None


def _first_place(module: Instance) -> Value:
    """Return the device of the first weights within a module."""
    return trait(_first_weights(module) or module, PLACE)


def _first_weights(module: Instance) -> Instance | None:
    """Return the first tensor, or module with weights, within a module."""
    seen: set[int] = set()
    waiting: list[Value] = [module]
    while waiting and len(seen) < MOST_MODULES:
        one = waiting.pop(0)
        if not isinstance(one, Instance) or id(one.slots) in seen:
            continue
        seen.add(id(one.slots))
        weights = trait(one, WEIGHTS)
        if one is not module and (is_tensor(one) or (isinstance(weights, Known) and weights.value)):
            return one
        waiting += [child for _, child in children(one)] if is_module(one) else []
    return None
