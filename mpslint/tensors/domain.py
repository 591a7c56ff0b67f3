"""What the interpreter asks about tensors: one function for each place of a program where values meet, move or are made."""

from __future__ import annotations

import ast
import sys

from mpslint.facts.events import Certainty, Operand, TensorEvent
from mpslint.facts.joined import join, join_all
from mpslint.facts.values import (
    CHILD,
    UNKNOWN,
    Argument,
    Bound,
    Class,
    Function,
    Instance,
    Items,
    Known,
    Mapping,
    Symbol,
    Value,
    is_trait,
    weakened,
)
from mpslint.tensors import gone_through, loaders
from mpslint.tensors.arguments import CallArguments, given_to
from mpslint.tensors.graphs import differentiate
from mpslint.tensors.kinds import fits, load_kinds
from mpslint.tensors.layout import swap
from mpslint.tensors.libraries import for_device, place
from mpslint.tensors.meet import meet, met, name_device, note, note_unfollowed, note_use, wide
from mpslint.tensors.methods import asked, moved
from mpslint.tensors.modules import call_module, make_module, register, set_all, sorted_children, unplace_within, weights_of
from mpslint.tensors.signatures import load_signatures
from mpslint.tensors.state import default_place, set_default
from mpslint.tensors.traits import (
    DTYPE,
    EACH,
    GRAPH,
    HOOKED,
    IN_PLACE,
    PARTS,
    PLACE,
    SWAPPED,
    TRAINING,
    Machine,
    asked_for_tensor,
    device_text,
    devices_of,
    elements_of,
    is_array,
    is_element,
    is_module,
    is_tensor,
    is_true,
    joined_trait,
    kind_of,
    layout_of,
    retyped,
    trait,
    typed,
)
from mpslint.tensors.transfer import apply
from mpslint.tensors.weights import as_parameter, weights_by


def call(
    m: Machine, callee: Value, name: str, method: str, receiver: Value | None, arguments: CallArguments, node: ast.Call, result: Instance
) -> Value | None:
    """Return what a call of something outside gives, where it is about tensors; None where the domain has nothing to say.

    `name` is the qualified name of the `callee`, `receiver` the object whose `method` it is.
    """
    kinds = load_kinds()
    place(m, name, receiver, arguments, node)
    _leave_to_moves(m, arguments)
    if method in kinds.differentiates or name in kinds.differentiates:
        differentiate(m, [*arguments.all, *([receiver] if receiver is not None else [])])
    positional, keywords = arguments.positional, arguments.keywords
    if isinstance(callee, Instance) and not callee.kind and callee.cls is None and PLACE in callee.slots:
        callee.kind = kinds.module  # what was moved and is called
    note_swapped(m, node, callee, name, receiver, arguments)
    stars = [one.value for one in node.keywords if one.arg is None]
    unpacked = dict(zip((f"**{number}" for number in range(len(stars))), map(Argument, arguments.unpacked, stars), strict=False))
    everything = {**keywords, **unpacked}
    if method in kinds.hooks or (isinstance(receiver, Class) and not kinds.unfollowed_bases.isdisjoint(receiver.outside_bases())):
        note_unfollowed(m, node)
        if isinstance(receiver, Instance) and is_module(receiver):
            m.store.write(receiver.slots, HOOKED, Known(True))
    if is_module(callee) and isinstance(callee, Instance):
        return call_module(m, callee, positional, everything, node, name, result)
    if method and not getattr(receiver, "kind", "") and not isinstance(receiver, (Class, Symbol)):
        _swap_unknown(receiver or UNKNOWN, method, arguments, node, result)
    if method and isinstance(receiver, Instance):
        type_by_use(m, receiver, method, node)
        if not receiver.kind and method.startswith(kinds.graph_switch):
            return _set_mode(m, receiver, method, arguments, node)
        if fits(receiver.name, kinds.moved_whole) and any(isinstance(one, (Function, Bound)) for one in arguments.all):
            _take_along(m, receiver, receiver, UNKNOWN, CallArguments((Argument(UNKNOWN, node),), {}, False), node)  # `data.apply(f)`
        if is_module(receiver) and _may_move(method, arguments):
            unplace_within(m, receiver)
        if not receiver.kind and (made := _moved_unknown(m, receiver, method, arguments, node)):
            return made
        if is_module(receiver) and method in kinds.as_calls:
            return call_module(m, receiver, positional, everything, node, name, result)
        if is_module(receiver) and kinds.leaves_inputs(method, m.versions):
            inputs = [one for argument in (*positional, *everything.values()) for one in met(argument.value, argument.node)]
            meet(m, node, [weights_of(receiver, getattr(node.func, "value", node.func)), *inputs], "outside module", name, scalars=False)
        if receiver.kind:
            return _method(m, receiver, method, arguments, node, result)
        each = trait(receiver, EACH)
        if each is not UNKNOWN and (made := gone_through.of_iterable(receiver, method, result)) is not None:
            return made
    elif method in kinds.moves and method and (where := asked(m, method, positional, keywords, node)[0]) is not None:
        result.slots[PLACE] = where
        if m.dropped is node:
            note_use(m, where, is_move=True)
        return None
    if (made := _function(m, name, arguments, node, result)) is not None:
        return made
    if not _is_plain(name):
        hand_over(m, node, name, [*positional, *keywords.values()])
        if name not in kinds.summaries:
            _leave_to_library(m, [one.value for one in (*positional, *everything.values())])
        for_device(m, name, receiver, positional, keywords, node, result)
    return None


def _leave_to_moves(m: Machine, arguments: CallArguments) -> None:
    """Take a module to lie anywhere whose method that moves it is handed to a call, which may call it (`partial(model.to, device)`)."""
    for one in arguments.all:
        if isinstance(one, Instance) and one.owner is not None and one.call is None and one.name.rpartition(".")[2] in load_kinds().moves:
            unplace_within(m, one.owner)


def _swap_unknown(tensor: Value, method: str, arguments: CallArguments, node: ast.Call, result: Instance) -> None:
    """Note that a method swaps dimensions of what isn't known, which is a tensor where it is given where only one can be."""
    signature = load_signatures().get(f"{load_kinds().tensor}.{method}")
    if signature is not None and signature.layout == SWAPPED.value:
        swap(result, tensor, signature, given_to(signature, tensor, node, arguments.positional, arguments.keywords, arguments.is_open))


def note_swapped(m: Machine, node: ast.Call, callee: Value, name: str, receiver: Value | None, arguments: CallArguments) -> None:
    """Note that a layer or a function is given a tensor whose dimensions are swapped, and weren't copied."""
    own = [Argument(receiver, getattr(node.func, "value", None))] if receiver is not None and is_tensor(receiver) else []
    first = next(iter((*own, *arguments.positional)), None)
    if first is not None and not m.is_mute and layout_of(first.value) == SWAPPED.value:
        of = callee.name if isinstance(callee, Instance) and is_module(callee) else name
        note(m, TensorEvent("swapped", node, (Operand(first.value, "", "", first.node),), Certainty.SURE, m.context, of))


def _function(m: Machine, name: str, arguments: CallArguments, node: ast.Call, result: Instance) -> Value | None:
    """Return what a function or a class of outside gives that the tables know; None for another one."""
    kinds, signatures = load_kinds(), load_signatures()
    positional, keywords, is_open = arguments.positional, arguments.keywords, arguments.is_open
    is_left = name in kinds.default_graph_setters and m.dropped is node  # where it is no context that ends
    if (is_left or name in kinds.default_device_setters | kinds.default_dtype_setters) and positional:
        set_default(m, name, positional[0])
        return result
    if name in kinds.tensor_questions and positional:
        is_one = asked_for_tensor(positional[0].value)
        return Known(is_one, node) if is_one is not None else result
    if name == kinds.generator:
        on = next(iter((*positional, *keywords.values())), Argument(Known(kinds.default_place, node), node)).value
        return typed(result, kinds.generator, place=UNKNOWN if is_open else on)
    if name in kinds.loads_onto and (onto := arguments.get(*kinds.loads_onto[name])) is not None and "" not in devices_of(onto):
        result.slots[PLACE] = onto
        return result
    if name in kinds.wrappers and positional:
        result.kind = kinds.module  # of what isn't known: where it lies isn't known either
        given = positional[0].value
        return given if kind_of(given) or isinstance(given, (Function, Bound, Symbol)) else result
    signature = signatures.get(name)
    if name in kinds.parameters and positional:
        return as_parameter(positional[0].value, keywords.get("requires_grad"), result)
    if signature is not None and signature.is_module:
        rest = [Argument(UNKNOWN, node)] if is_open and signature.inside else []
        make_module(m, signature, [*positional, *rest], keywords, node, result)
        return result
    if name in kinds.tensor_types:
        where, dtype = Known(kinds.default_place, node), Known(kinds.tensor_types[name], node)
        return typed(result, kinds.tensor, place=where, dtype=dtype, graph=Known(False), zero=Known(False))
    if signature is not None:
        return apply(m, signature, given_to(signature, None, node, positional, keywords, is_open), node, result)
    if (made := loaders.make(m, name, arguments, node, result)) is not None:
        return made
    if fits(name, kinds.module_makers):
        make_module(m, None, positional, keywords, node, result)
        return result
    return None


def note_generator(m: Machine, name: str, keywords: dict[str, Argument], drawn: Value, node: ast.Call) -> None:
    """Note that a call draws random numbers with a generator of another device than the one that they lie on."""
    kinds = load_kinds()
    given = keywords.get(kinds.generator_argument) if not m.is_mute else None
    if given is None:
        return
    place = joined_trait(given.value, PLACE)
    where = default_place(m, node) if fits(name, kinds.draws) else joined_trait(drawn, PLACE) if is_tensor(drawn) else UNKNOWN
    devices = devices_of(place), devices_of(where)
    if devices[0] != devices[1] and kinds.gpu in devices[0] | devices[1] and "" not in devices[0] | devices[1]:
        certainty = Certainty.SURE if devices[0].isdisjoint(devices[1]) else Certainty.GUARDED
        note(m, TensorEvent("generator", node, (Operand(given.value, device_text(place), "", given.node),), certainty, m.context, "", name))


def _is_plain(name: str) -> bool:
    """Return whether a function of Python itself is called, which takes tensors of all devices."""
    head = name.partition(".")[0]
    return head == "builtins" or head in sys.stdlib_module_names


def _leave_to_library(m: Machine, values: list[Value]) -> None:
    """Take the models among some values to be where they are no longer for sure: a library may move those that it gets from the CPU."""
    for one in (inner for value in values for inner in elements_of(value)):
        if isinstance(one, Instance) and is_module(one) and devices_of(trait(one, PLACE)) == {load_kinds().default_place}:
            m.store.write(one.slots, PLACE, weakened(trait(one, PLACE)))


def _may_move(method: str, arguments: CallArguments) -> bool:
    """Return whether a method of a module may move it by what it is given: a function for its parts, other tensors for its weights."""
    said = arguments.keywords.get(load_kinds().replaces_weights.get(method, ""))
    return said is not None or any(isinstance(one, (Function, Bound)) for one in arguments.all)


def hand_over(m: Machine, node: ast.Call, name: str, arguments: list[Argument]) -> None:
    """Note that tensors which may lie on different devices are given to something that isn't known."""
    operands = [one for argument in arguments for one in met(argument.value, argument.node) if not one.may_be_number]
    meet(m, node, operands, "outside call", name, scalars=True, is_known=False)


def _method(m: Machine, receiver: Instance, method: str, arguments: CallArguments, node: ast.Call, result: Instance) -> Value | None:
    """Return what a method of a tensor, an array or a module gives."""
    kinds = load_kinds()
    positional, keywords = arguments.positional, arguments.keywords
    if not is_array(receiver) and (made := moved(m, receiver, method, positional, keywords, node)) is not None:
        return made
    if method in kinds.modes:
        return _set_mode(m, receiver, method, arguments, node)
    if is_module(receiver):
        if method in kinds.gives_weights:
            return weights_by(receiver, kinds.gives_weights[method], result)
        content = gone_through.content_of(receiver) if method in kinds.adding and positional else None
        if isinstance(content, Items):
            added = positional[-1].value
            if content.open:
                m.store.change(content, dict(content.slots), True, join_all([content.each or UNKNOWN, added]))
            else:
                m.store.change(content, {**content.slots, len(content.slots): added}, False)
            return receiver
        if method in kinds.adding and positional and (own := load_signatures().get(receiver.name)) is not None and own.inside:
            m.store.write(receiver.slots, (CHILD, len(sorted_children(receiver))), positional[-1].value)
            return receiver
        if method in kinds.registering and len(positional) > kinds.registering[method]:
            register(m, receiver, positional[0].value, positional[kinds.registering[method]].value)
            return Known(None, node)
        return None
    if method in kinds.place_numbers and (place := device_text(trait(receiver, PLACE))):
        return Known(-1 if place == kinds.default_place else int(place.partition(":")[2] or 0), node)
    signature = load_signatures().get(f"{receiver.kind}.{method}")
    if signature is None:
        return gone_through.of_iterable(receiver, method, result) if EACH in receiver.slots else None
    return apply(m, signature, given_to(signature, receiver, node, positional, keywords, arguments.is_open), node, result)


def _set_mode(m: Machine, receiver: Instance, method: str, arguments: CallArguments, node: ast.Call) -> Value:
    """Carry out `module.eval()`, `tensor.requires_grad_(False)` and their like, which give what they are called on."""
    kinds = load_kinds()
    given = next(iter(arguments.all), Known(kinds.modes[method], node))
    if receiver.cls is None and receiver.name not in load_signatures() and is_module(receiver):
        receiver.slots.setdefault(GRAPH, Known(True, weak=True))  # it has this method: it is a module for sure
    set_all(m, receiver, GRAPH if method.startswith(kinds.graph_switch) else TRAINING, given if isinstance(given, Known) else UNKNOWN)
    return receiver


def _moved_unknown(m: Machine, receiver: Instance, method: str, arguments: CallArguments, node: ast.Call) -> Value | None:
    """Return what is left of an unknown object that is moved or cast: a module itself, a tensor of which nothing else is known."""
    kinds = load_kinds()
    if method not in kinds.moves and method not in kinds.casts:
        return None
    where, dtype = asked(m, method, arguments.positional, arguments.keywords, node)
    if where is None and PLACE not in receiver.slots:
        return None
    is_kept = where is not None and PLACE in receiver.slots and m.dropped is not node
    if is_element(receiver) or is_kept:  # a batch or a part of one: modules are rarely gone through
        if where is not None:
            m.store.write(receiver.slots, *((PLACE, UNKNOWN) if is_kept else (PARTS, where)))  # a tensor stays, a module has moved
        made = retyped(receiver, **{name: one for name, one in (("place", where), ("dtype", dtype)) if one is not None})
        _take_along(m, receiver, made, where, arguments, node)
        wide(m, node, receiver, trait(made, DTYPE), trait(made, PLACE), "cast" if where is None else "move", f"{kinds.tensor}.{method}")
        return made
    for key, value in ((PLACE, where), (DTYPE, dtype)):
        if value is not None:
            m.store.write(receiver.slots, key, value)
    _take_along(m, receiver, receiver, where, arguments, node)
    if where is not None:
        if load_kinds().is_absent(device_text(where)):
            name_device(m, node, where)
        if m.dropped is node or "" in devices_of(where):  # a module that moves in place
            note_use(m, where, is_move=True)
        m.store.write(receiver.slots, IN_PLACE, Known(m.dropped is node))
    if dtype is not None:
        wide(m, node, receiver, dtype, trait(receiver, PLACE), "cast", f"{kinds.tensor}.{method}")
    return receiver


def _take_along(m: Machine, receiver: Instance, moved: Instance, where: Value | None, arguments: CallArguments, node: ast.Call) -> None:
    """Move the tensors that the program wrote into an object which is moved. A module leaves them where they are, data takes them along."""
    takes_all = fits(receiver.name, load_kinds().moved_whole) and len(arguments.all) == 1
    for key, held in list(receiver.slots.items()):
        if takes_all and where is not None and not is_trait(key) and is_tensor(held):
            wide(m, node, held, joined_trait(held, DTYPE), where, "move")
        if where is not None and not is_trait(key) and (taken := _taken(held, where, takes_all)) is not held:
            m.store.write(moved.slots, key, taken)


def _taken(held: Value, where: Value, takes_all: bool, depth: int = 3) -> Value:
    """Return what is left of a value in an object that is moved, and of what lies in lists, dicts and objects in it."""
    if isinstance(held, (Items, Mapping)) and depth:
        return gone_through.changed_within(held, lambda one: _taken(one, where, takes_all, depth - 1))
    if not isinstance(held, Instance) or held.cls is not None or is_module(held):
        return held
    if is_tensor(held):
        return retyped(held, place=where if takes_all else join(trait(held, PLACE), where))
    inner = {key: _taken(one, where, takes_all, depth - 1) for key, one in held.slots.items() if not is_trait(key)} if depth else {}
    if not (takes_all or inner):
        return held
    return Instance(held.name, held.call, {**held.slots, **({PLACE: where} if takes_all else {}), **inner}, owner=held.owner)


def type_by_use(m: Machine, value: Instance, method: str, node: ast.AST) -> None:
    """Make an unknown object a module where it is asked what only modules have, and one that was moved a tensor where tensors have it."""
    kinds = load_kinds()
    if value.kind or value.cls is not None or value.fallback or _is_plain(value.name):
        return
    is_moved = PLACE in value.slots
    if method in kinds.array_methods:
        value.kind = kinds.array
    elif method in kinds.module_methods and not is_element(value) and (is_moved or value.call is not None or value.owner is None):
        where = trait(value, PLACE) if is_moved else _place_of_whole(value) or weakened(default_place(m, node))
        typed(value, kinds.module, place=where, graph=Known(True, weak=True))
    elif is_moved and f"{kinds.tensor}.{method}" in load_signatures() and method not in kinds.moves and method not in kinds.casts:
        value.kind = kinds.tensor
        if is_true(trait(value, IN_PLACE)):
            m.store.write(value.slots, PLACE, UNKNOWN)


def _place_of_whole(value: Instance) -> Value | None:
    """Return the device of the module that an unknown value belongs to; None where it belongs to no module."""
    one = value.owner
    while one is not None and PLACE not in one.slots:
        one = one.owner
    return one.slots[PLACE] if one is not None else None
