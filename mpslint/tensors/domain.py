"""What the interpreter asks about tensors: one function for each place of a program where values meet, move or are made."""

from __future__ import annotations

import ast
import sys
from typing import Protocol

from mpslint.facts.events import Certainty, TensorEvent
from mpslint.facts.values import UNKNOWN, Argument, Instance, Known, Value, alternatives_of, weakened
from mpslint.tensors import loaders
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.meet import meet, met, wide
from mpslint.tensors.methods import asked, moved
from mpslint.tensors.modules import as_parameter, call_module, make_module, move, parameters_of, register
from mpslint.tensors.signatures import load_signatures
from mpslint.tensors.state import default_place, set_default
from mpslint.tensors.traits import DTYPE, EACH, PLACE, Machine, is_array, is_module, kind_of, trait, typed
from mpslint.tensors.transfer import apply, given_to


class Arguments(Protocol):
    """The arguments of a call, evaluated."""

    @property
    def positional(self) -> tuple[Argument, ...]:
        """Those given by position."""

    @property
    def keywords(self) -> dict[str, Argument]:
        """Those given by name."""

    @property
    def unpacked(self) -> tuple[Value, ...]:
        """Objects given by `**`."""

    @property
    def is_open(self) -> bool:
        """Whether others may be given that aren't known."""


def call(
    m: Machine, callee: Value, name: str, method: str, receiver: Value | None, arguments: Arguments, node: ast.Call, result: Instance
) -> Value | None:
    """Return what a call of something outside gives, where it is about tensors; None where the domain has nothing to say.

    `name` is the qualified name of the `callee`, `receiver` the object whose `method` it is.
    """
    kinds, signatures = load_kinds(), load_signatures()
    place(m, name, receiver, arguments, node)
    positional, keywords, is_open = arguments.positional, arguments.keywords, arguments.is_open
    if isinstance(callee, Instance) and not callee.kind and callee.cls is None and PLACE in callee.slots:
        callee.kind = kinds.module  # what was moved and is called
    if is_module(callee) and isinstance(callee, Instance):
        unpacked = {f"**{number}": Argument(one, node) for number, one in enumerate(arguments.unpacked)}
        return call_module(m, callee, positional, {**keywords, **unpacked}, node, name, result)
    if method and isinstance(receiver, Instance):
        type_by_use(m, receiver, method, node)
        if not receiver.kind and (made := _moved_unknown(m, receiver, method, arguments, node)):
            return made
        if receiver.kind:
            return _method(m, receiver, method, positional, keywords, is_open, node, result)
        each = trait(receiver, EACH)
        if each is not UNKNOWN and (made := loaders.of_iterable(receiver, method, result)) is not None:
            return made
    elif method in kinds.moves and method and (where := asked(m, method, positional, keywords, node)[0]) is not None:
        result.slots[PLACE] = where
        return None
    if name in kinds.default_device_setters | kinds.default_dtype_setters and positional:
        set_default(m, name, positional[0])
        return None
    if name in kinds.wrappers and positional and kind_of(positional[0].value):
        return positional[0].value
    signature = signatures.get(name)
    if name in kinds.parameters and positional:
        return as_parameter(positional[0].value, keywords.get("requires_grad"), result)
    if signature is not None and signature.is_module:
        make_module(m, signature, positional, keywords, node, result)
        return result
    if name in kinds.tensor_types:
        return typed(
            result,
            kinds.tensor,
            place=Known(kinds.default_place, node),
            dtype=Known(kinds.tensor_types[name], node),
            graph=Known(False),
            zero=Known(False),
        )
    if signature is not None:
        return apply(m, signature, given_to(signature, None, node, positional, keywords, is_open), node, result)
    if (made := loaders.make(m, name, positional, keywords, node, result)) is not None:
        return made
    if kinds.makes_module(name):
        make_module(m, None, positional, keywords, node, result)
        return result
    if not _is_plain(name):
        hand_over(m, node, name, [*positional, *keywords.values()])
    return None


def copies() -> frozenset[str]:
    """Return the functions that copy a tensor or a module with all that is in it."""
    return load_kinds().copies


def _is_plain(name: str) -> bool:
    """Return whether a function of Python itself is called, which takes tensors of all devices."""
    head = name.partition(".")[0]
    return head == "builtins" or head in sys.stdlib_module_names


def hand_over(m: Machine, node: ast.Call, name: str, arguments: list[Argument]) -> None:
    """Note that tensors which may lie on different devices are given to something that isn't known."""
    operands = [one for argument in arguments for one in met(argument.value, argument.node) if not one.may_be_number]
    before = len(m.facts.events)
    meet(m, node, operands, "outside call", name, scalars=True)
    for number in range(before, len(m.facts.events)):
        event = m.facts.events[number]
        if event.certainty is Certainty.SURE:
            m.facts.events[number] = TensorEvent(
                event.kind, event.node, event.operands, Certainty.UNKNOWN, event.context, event.of, event.name
            )


def _method(
    m: Machine,
    receiver: Instance,
    method: str,
    positional: tuple[Argument, ...],
    keywords: dict[str, Argument],
    is_open: bool,
    node: ast.Call,
    result: Instance,
) -> Value | None:
    """Return what a method of a tensor, an array or a module gives."""
    kinds = load_kinds()
    if not is_array(receiver) and (made := moved(m, receiver, method, positional, keywords, node)) is not None:
        return made
    if is_module(receiver):
        if method in ("parameters", "buffers"):
            return parameters_of(receiver)
        if method in kinds.registering and len(positional) > kinds.registering[method]:
            register(m, receiver, positional[0].value, positional[kinds.registering[method]].value)
            return Known(None, node)
        return receiver if method in ("train", "eval", "requires_grad_") else None
    signature = load_signatures().get(f"{receiver.kind}.{method}")
    if signature is None:
        return None
    return apply(m, signature, given_to(signature, receiver, node, positional, keywords, is_open), node, result)


def _moved_unknown(m: Machine, receiver: Instance, method: str, arguments: Arguments, node: ast.Call) -> Value | None:
    """Return what is left of an unknown object that is moved or cast: a module itself, a tensor of which nothing else is known."""
    kinds = load_kinds()
    if method not in kinds.moves and method not in kinds.casts:
        return None
    where, dtype = asked(m, method, arguments.positional, arguments.keywords, node)
    if where is None and PLACE not in receiver.slots:
        return None
    for key, value in ((PLACE, where), (DTYPE, dtype)):
        if value is not None:
            m.store.write(receiver.slots, key, value)
    if dtype is not None:
        wide(m, node, receiver, dtype, trait(receiver, PLACE), "cast", f"{kinds.tensor}.{method}")
    return receiver


def place(m: Machine, name: str, receiver: Value | None, arguments: Arguments, node: ast.AST) -> None:
    """Carry out what a call does that moves models, and the batches of loaders, to the GPU by itself."""
    kinds = load_kinds()
    said = kinds.placers.get(name)
    if said is None:
        return
    options = [receiver, *(one.value for one in (*arguments.positional, *arguments.keywords.values()))]
    calls = [one.call for one in options if isinstance(one, Instance) and one.call is not None and not one.kind]
    given = {*arguments.keywords, *(name for call in calls for name in call.keywords)}
    gpu = Known(kinds.gpu, node, weak=not kinds.stays_on_cpu.isdisjoint(given))
    if said == "*":
        values = [one.value for one in (*arguments.positional, *arguments.keywords.values())]
    else:
        number, keyword = said
        named = [arguments.keywords[keyword].value] if keyword in arguments.keywords else []
        values = named or [one.value for one in arguments.positional[number : number + 1]]
    for value in values:
        for one in alternatives_of(value):
            if not isinstance(one, Instance):
                continue
            if is_module(one) or one.cls is not None:
                move(m, one, gpu, None)
            elif EACH in one.slots:
                m.store.write(one.slots, EACH, loaders.put(one.slots[EACH], gpu))


def place_object(m: Machine, made: Instance) -> None:
    """Move an object whose methods a library calls, where it moves such an object first."""
    kinds = load_kinds()
    if made.cls is not None and not kinds.placed_bases.isdisjoint(made.cls.outside_bases()):
        move(m, made, Known(kinds.gpu, None, True, kinds.device_class), None)


def type_by_use(m: Machine, value: Instance, method: str, node: ast.AST) -> None:
    """Make an unknown object a module where it is asked what only modules have, and one that was moved a tensor where tensors have it."""
    kinds = load_kinds()
    if value.kind or value.cls is not None or value.fallback or _is_plain(value.name):
        return
    is_moved = PLACE in value.slots
    if method in kinds.module_methods and (is_moved or value.call is not None or value.owner is None):
        typed(value, kinds.module, place=trait(value, PLACE) if is_moved else weakened(default_place(m, node)))
    elif is_moved and f"{kinds.tensor}.{method}" in load_signatures() and method not in kinds.moves and method not in kinds.casts:
        value.kind = kinds.tensor
