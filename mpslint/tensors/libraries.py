"""What libraries do with devices by themselves: they move models and batches, call steps of the program, make objects for a device."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from mpslint.core.versions import VersionRange
from mpslint.facts.events import Certainty, Operand, TensorEvent
from mpslint.facts.values import UNKNOWN, Argument, Function, Instance, Known, Value, alternatives_of, is_weak, origin_of, weakened
from mpslint.tensors import loaders
from mpslint.tensors.arguments import CallArguments
from mpslint.tensors.kinds import fits, load_kinds
from mpslint.tensors.meet import Met, is_assumed, meet, met, note, note_unfollowed, note_use, wide
from mpslint.tensors.methods import note_wide_module
from mpslint.tensors.modules import move, unplace_within
from mpslint.tensors.traits import (
    DTYPE,
    EACH,
    GIVEN_BACK,
    PARTS,
    PLACE,
    Machine,
    devices_of,
    is_module,
    joined_trait,
    like,
    trait,
    typed,
)


def place(m: Machine, name: str, receiver: Value | None, arguments: CallArguments, node: ast.AST) -> None:
    """Carry out what a call does that moves models, and the batches of loaders, by itself."""
    kinds = load_kinds()
    if name in kinds.summaries:
        _summarise(m, kinds.summaries[name], arguments, node)
    model = next(iter(arguments.positional), arguments.keywords.get("model"))
    if name in kinds.feeds and model is not None and (there := arguments.keywords.get(kinds.device_argument)) is not None:
        meet(m, node, [*met(model.value, model.node), Met(UNKNOWN, there.node, there.value)], "outside module", name, scalars=False)
    said = kinds.placers.get(name)
    if said is None:
        return
    device = chosen_by(m, name, [receiver or UNKNOWN, *arguments.all], arguments.keywords, node)
    note_use(m, device)
    named = {number: arguments.keywords[key].value for key, number in said.items() if key in arguments.keywords} if said != "*" else {}
    every = (*arguments.positional, *arguments.keywords.values()) if said == "*" else arguments.positional[: len(said)]
    for number, value in (*enumerate(one.value for one in every), *named.items()):
        for one in alternatives_of(value):
            if not isinstance(one, Instance):
                continue
            if EACH in one.slots and not is_module(one):
                for part in loaders.tensors_of(one.slots[EACH]):
                    if (dtype := joined_trait(part, DTYPE)) is not UNKNOWN:
                        wide(m, node, part, dtype, device, "move", "")
                m.store.write(one.slots, EACH, loaders.put(one.slots[EACH], device))
            elif is_module(one) or (one.cls is not None and (number == 0 or said == "*")):
                note_wide_module(m, one, device, None, node)
                move(m, one, device, None)
                if name in kinds.gives_back and device.value == kinds.gpu:
                    move(m, one, Known(kinds.default_place, source=GIVEN_BACK), None)


def _summarise(m: Machine, sized: str, arguments: CallArguments, node: ast.AST) -> None:
    """Carry out what a function does that prints the layers of a model: it moves it to the CPU where it is given a size, or refuses it."""
    kinds, keywords = load_kinds(), arguments.keywords
    model = next(iter(arguments.positional), keywords.get("model"))
    device = keywords[kinds.device_argument].value if kinds.device_argument in keywords else Known(kinds.default_place)
    is_sized = len(arguments.positional) > 1 or sized in keywords
    for one in alternatives_of(model.value) if model is not None else ():
        if not isinstance(one, Instance) or devices_of(trait(one, PLACE)) != {kinds.gpu}:
            continue
        if sized and is_sized and isinstance(device, Known) and device.value in (None, kinds.default_place):
            move(m, one, Known(kinds.default_place, node), None)
        elif not sized and not m.is_mute and not m.context.handlers:
            shown = Operand(one, kinds.gpu, "", None, origin_of(trait(one, PLACE)))
            note(m, TensorEvent("refused", node, (shown,), Certainty.SURE, m.context))


def chosen_by(m: Machine, name: str, operands: Sequence[Value], keywords: Mapping[str, Argument], node: ast.AST | None) -> Known:
    """Return the device that a library moves models and batches to, by the arguments of a call and of those that made its operands.

    What an option or a branch may put on the CPU is taken to be there, though not surely.
    """
    kinds, package = load_kinds(), name.partition(".")[0]
    makers = [one.call for one in operands if isinstance(one, Instance) and one.call is not None and not one.kind]
    given = [(word, one.value) for named in (keywords, *(by.keywords for by in makers)) for word, one in named.items()]
    choosers = [(by, kinds.choosers[one]) for by in makers for one in by.names if one in kinds.choosers]
    given += [(word, one.value) for by, words in choosers for word, one in zip(words, by.arguments, strict=False)]
    variables = ((word, _set_by(m, variable)) for variable, word in kinds.variables.get(package, {}).items())
    given += [(word, value) for word, value in variables if value is not None]
    given = [(word, value) for word, value in given if word in kinds.stays_on_cpu]
    said = [(value, one) for word, value in given for one in alternatives_of(value) if said_by(one) in kinds.puts_on_cpu.get(word, ())]
    if said:
        is_sure = any(one is value and not is_weak(one) for value, one in said)
        return Known(kinds.default_place, node, not is_sure, kinds.device_class)
    asks = kinds.asks_for_gpu.get(package)
    is_asked = asks is not None and VersionRange.parse(asks["versions"]).matches(m.versions) and asks["by"] not in dict(given)
    is_open = any(by.is_open for by, _ in choosers) or any(said_by(one) is UNKNOWN for _, value in given for one in alternatives_of(value))
    if is_asked or is_open:
        return Known(kinds.default_place, node, True, kinds.device_class)
    may_stay = any(is_weak(value) or said_by(value) not in kinds.stays_on_cpu[word] for word, value in given)
    return Known(kinds.gpu, node, may_stay, kinds.device_class)


def said_by(value: Value) -> object:
    """Return what an argument says: a constant, or the class of an object; UNKNOWN where that isn't known."""
    return value.value if isinstance(value, Known) else (isinstance(value, Instance) and value.name) or UNKNOWN


def _set_by(m: Machine, variable: str) -> Value | None:
    """Return what the program sets an environment variable to, weak where only some paths do; None where it doesn't."""
    value: Value | None = m.module.slots.get(("environment", variable))
    return weakened(value) if value is not None and (id(m.module.slots), ("environment", variable)) in m.store.unsure else value


def _placed(m: Machine, made: Instance) -> Known | None:
    """Return the device that a library moves an object to before it calls its methods; None where no call of the program says so.

    Where several calls move it to different ones it may be on the CPU.
    """
    kinds = load_kinds()
    calls = [one for one in m.facts.calls if one.name in kinds.placers and any(value is made for value in one.given)]
    if not calls and made.call is not None and not kinds.placers.keys().isdisjoint(made.call.names):
        calls = [made.call]
    chosen = [chosen_by(m, one.name, one.operands, one.keywords, one.node) for one in calls]
    if len({one.value for one in chosen}) > 1:
        return Known(kinds.default_place, None, True, kinds.device_class)
    return chosen[0] if chosen else None


def place_object(m: Machine, made: Instance) -> None:
    """Move an object whose methods a library calls, where it moves it first; where one lies that nobody makes isn't known."""
    if not put_by_library(m, made) and (made.call is None or not made.call.context.called):
        for value in [made, *made.slots.values()]:
            unplace_within(m, value)


def put_by_library(m: Machine, made: Instance) -> bool:
    """Move an object whose methods a library calls, where it is of a class that it moves first; return whether it is."""
    kinds = load_kinds()
    if made.cls is None or kinds.placed_bases.isdisjoint(made.cls.outside_bases()) or is_assumed(trait(made, PLACE)):
        return False
    move(m, made, _placed(m, made) or Known(kinds.gpu, None, True, kinds.device_class), None)
    return True


def _said_of_step(function: Function) -> Mapping[str, Any] | None:
    steps = load_kinds().steps
    said = next((steps[name] for name in function.cls.outside_bases() if name in steps), None) if function.cls is not None else None
    return said if said is not None and getattr(function.node, "name", "") in said["methods"] else None


def step_of(m: Machine, function: Function, made: Instance) -> dict[str, Value]:
    """Return what a library gives a method of an object that it calls as a step, by parameter; nothing for another method."""
    kinds = load_kinds()
    said = _said_of_step(function)
    if said is None:
        return {}
    placed = _placed(m, made)
    if is_assumed(trait(made, PLACE)) or (placed is not None and placed.weak):
        return {}
    device = Known(placed.value if placed is not None else kinds.gpu, None, True, kinds.device_class)
    batch = typed(Instance("batch"), kinds.tensor, place=device, graph=Known(False), zero=Known(False))
    batch.slots[EACH] = like(batch)
    values: dict[str, Value] = {"model": typed(Instance("model"), kinds.module, place=device), "batch": batch}
    names = [one.arg for one in function.node.args.args]
    return {names[said[role]]: value for role, value in values.items() if role in said and said[role] < len(names)}


def for_device(
    m: Machine,
    name: str,
    receiver: Value | None,
    positional: Sequence[Argument],
    keywords: Mapping[str, Argument],
    node: ast.AST,
    made: Instance,
) -> None:
    """Note where what an object of a library gives lies: where its operands do, else on the device for which it was made, it is assumed."""
    kinds = load_kinds()
    if isinstance(receiver, Instance) and PARTS in receiver.slots:
        made.slots[PLACE] = receiver.slots[PARTS]
        return
    given = [one.value for one in (*positional, *keywords.values())]
    if fits(name, kinds.like_operands):
        places = [one.place for value in given for one in met(value, None) if not one.may_be_number]
    else:
        named = [keywords[kinds.device_argument].value] if kinds.device_argument in keywords else []
        devices = [*named, *(one for one in given if isinstance(one, Known) and one.source == kinds.device_class)]
        places = [Known(one.value, one.origin or node, True, one.source) if isinstance(one, Known) else weakened(one) for one in devices]
    if places and "" not in devices_of(places[0]):
        made.slots[PARTS] = places[0]
        note_use(m, places[0])
        if fits(name, kinds.own_methods):
            note_unfollowed(m, node)
