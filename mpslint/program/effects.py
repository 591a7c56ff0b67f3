"""What may be written where it can't be seen: through a value that is not known, and by code that is not followed."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from mpslint.facts.values import (
    CHILD,
    MAYBE,
    TRAIT,
    UNKNOWN,
    Bound,
    Call,
    Class,
    Function,
    FunctionNode,
    Instance,
    Items,
    Known,
    Mapping,
    Unknown,
    Value,
    alternatives_of,
    weakened,
)
from mpslint.program.machine import Walker
from mpslint.program.places import CONTENT, Writes, is_vague, parts_of
from mpslint.program.reach import CHANGING, Reach, extend, names_in, text_of_nodes, written_beside, written_by
from mpslint.program.walk import at_once, walk
from mpslint.tensors.signatures import load_signatures
from mpslint.tensors.traits import PARTS, is_tensor

MOST_HELD = 50
"""Values that an object of outside was given which are told apart."""
ITEM_METHODS = ("__setitem__", "__delitem__", "__iadd__", "__ior__")
WRITING = ("__setattr__", "__delattr__")
CALLING = ("__call__", "forward")


def not_followed(m: Walker, values: Iterable[Value], is_lasting: bool = False, does_all: bool = False) -> None:
    """Forget what code that is not followed may write: functions among some values, with what it can reach from all of them.

    With `is_lasting` it may do so at any time from here on; code that `does_all` may change whatever it reaches.
    """
    m.store.blind += 1
    _forget_reached(m, Reach(changes=does_all, is_vague=does_all), list(values), is_lasting)


def _forget_reached(m: Walker, reach: Reach, values: list[Value], is_lasting: bool = False) -> None:
    """Forget what code with a reach may write, through some values that it has as well; for good where that `is_lasting`."""
    extend(reach, m.store, values, m.reach)
    places = written_beside(reach, m.reach, m.store, is_lasting) if reach.is_open else written_by(reach, None, is_lasting)
    m.looks += len(reach.seen) + len(reach.read)
    if is_lasting:
        never_sure_again(m, places)
    else:
        for place, key, _ in places.values():
            m.store.forget(place, key)
    if reach.is_open:
        m.store.touched.clear()  # by this only


def never_sure_again(m: Walker, writes: Writes) -> None:
    """Something may write these places at any time from here on, as a generator does: nothing is known of them any more."""
    for at, (place, key, _) in writes.items():
        if at not in m.store.volatile:
            m.store.volatile[at] = place
            m.store.forget(place, key)


def about_to_run(m: Walker, node: ast.For | ast.AsyncFor | ast.While) -> None:
    """Forget what a loop may write in any of its rounds, by what is written in it."""
    known = vars(node)
    if "effects" not in known:
        known["effects"] = text_of_nodes(list(walk(node)))
    reach = Reach()
    _forget_reached(m, reach, names_in(m.store, m.frame, known["effects"], reach))


def is_generator(node: FunctionNode) -> bool:
    """Return whether a function is a generator, whose body runs only when its result is iterated."""
    known = vars(node)
    if "yields" not in known:
        body: list[ast.AST] = [*node.body] if isinstance(node.body, list) else [node.body]
        known["yields"] = any(isinstance(one, (ast.Yield, ast.YieldFrom)) for statement in body for one in at_once(statement))
    return bool(known["yields"])


def may_swallow(node: FunctionNode) -> bool:
    """Return whether a generator may catch an exception that it is given where it yields."""
    around = [one for one in walk(node) if isinstance(one, (ast.With, ast.AsyncWith)) or vars(one).get("handlers")]
    return is_generator(node) and any(isinstance(one, (ast.Yield, ast.YieldFrom)) for block in around for one in walk(block))


def change_items(m: Walker, given: Value = UNKNOWN, objects: list[Value] | None = None) -> None:
    """One of several objects is changed as a list or dict is: any that something unknown may be, where none are given.

    It may keep what it is given.
    """
    store = m.store
    store.blind += objects is None
    meant = list(store.lost.values()) if objects is None else objects
    taken, store.regained = (store.regained, {}) if objects is None else ({}, store.regained)
    for one in taken.values() if objects is None else objects:
        if isinstance(one, (Items, Mapping)):
            store.forget(one, CONTENT)
        elif isinstance(one, Instance):
            for key in [key for key in one.slots if key == "item" or (key.__class__ is tuple and key[0] not in (TRAIT, CHILD))]:
                store.forget(one.slots, key)
    for at, one in taken.items():
        store.regained.pop(at, None)  # it was written just now
        if isinstance(one, Mapping) and one.owner is not None:  # what its object is given it has
            store.regained[at] = one
    _call_methods(m, meant, ITEM_METHODS, [given])
    if meant:
        m.store.lose(given)


def change_any_attribute(m: Walker, owner: Value, given: Value = UNKNOWN) -> None:
    """An attribute whose name is not known is written, or deleted: any of an object, or of all that something unknown may be."""
    m.store.lose(given)
    for one in list(m.store.lost.values()) if isinstance(owner, Unknown) else alternatives_of(owner):
        if not isinstance(one, (Instance, Class)):
            continue
        if isinstance(one, Instance) and one.cls is not None:
            one.fallback = one.fallback or MAYBE.reason
        for name, value in list(one.slots.items()):
            if isinstance(name, str) and isinstance(value, Known):
                m.store.write(one.slots, name, weakened(value))
            elif isinstance(name, str) and not isinstance(value, Function):
                m.store.forget(one.slots, name, MAYBE)


def change_attribute(m: Walker, name: str, given: Value = UNKNOWN, objects: list[Value] | None = None) -> None:
    """An attribute of one of several objects is written or deleted: of any that something unknown may be, where none are given.

    It may keep what it is given.
    """
    m.store.blind += objects is None
    objects = list(m.store.lost.values()) if objects is None else objects
    classes = {above for one in objects if isinstance(one, Instance) and one.cls is not None for above in one.cls.lineage()}
    if descriptors := [held for cls in classes if isinstance(held := cls.slots.get(name), Instance) and held.cls is not None]:
        not_followed(m, [*descriptors, *objects, given])
    for one in objects:
        if isinstance(one, (Instance, Class)):
            cls = one if isinstance(one, Class) else one.cls
            own = cls.lookup(name) if cls is not None and isinstance(one, Instance) else None
            if isinstance(own, Function) and own.setter is not None:
                not_followed(m, [own.setter, one, given])
            elif cls is not None or (isinstance(one, Instance) and name in one.slots and not one.only_read(name)):
                m.store.forget(one.slots, name)
            for above in cls.lineage() if cls is not None and isinstance(one, Instance) else ():  # `type(one).name = ...`
                if name in above.slots and not isinstance(above.slots[name], Function):
                    m.store.forget(above.slots, name)
    _call_methods(m, objects, WRITING, [given])
    if objects:
        m.store.lose(given)


def change_given(m: Walker, owner: Value, name: str, given: Value = UNKNOWN) -> None:
    """An object of outside has an attribute of a name written, or its items changed where that is ''. It may be what it was given, or hand
    that out (a proxy, a queue), so the same may happen there.
    """
    if not isinstance(owner, Instance) or owner.cls is not None:
        return
    objects, is_open = handed_on(m, [owner])
    for several in (objects, *([None] if is_open else [])):
        if name:
            change_attribute(m, name, given, several)
        else:
            change_items(m, given, several)
    if is_open:
        _forget_reached(m, Reach(written={name} - {""}, changes=not name), [UNKNOWN])


def given_to(m: Walker, owner: Instance) -> tuple[dict[int, Value], bool]:
    """Return what an object of outside, and those that it comes from, were given that can be changed; and whether it may be anything.

    Of what has tensors as its parts and was made of nothing else, such as a state dict, only what it was handed later counts.
    """
    path: list[Instance] = []
    one: Value | None = owner
    while isinstance(one, Instance) and one.cls is None and id(one) not in m.store.held and not _holds_tensors(one):
        path.append(one)
        one = one.owner or (one.call.receiver if one.call is not None else None)
    found: tuple[dict[int, Value], bool] = m.store.held[id(one)][1:] if id(one) in m.store.held else ({}, False)
    if one is not None and id(one) not in m.store.held and not _holds_tensors(one):
        found = _with(m, found, [one])
    for made in reversed(path):
        given = _taken(made, made.call) if made.call is not None else []
        found = _with(m, (found[0], found[1] or (made.call is not None and not made.call.names)), given)
        m.store.held[id(made)] = (made, *found)
    return found


def _holds_tensors(value: Value) -> bool:
    """Return whether a value holds tensors, and nothing that a call was given: `state_dict(destination=given)` gives that."""
    return isinstance(value, Instance) and PARTS in value.slots and (value.call is None or not value.call.given)


def _taken(made: Instance, call: Call) -> list[Value]:
    """Return what an object may call of what it was given; of a layer that is known, no numbers that aren't (`Linear(data.width, 4)`)."""
    own = load_signatures().get(made.name)
    if own is None or not own.is_module or own.inside:
        return call.given
    by_name = {**dict(zip(own.parameters, call.arguments, strict=False)), **call.keywords}
    held = {id(by_name[name].value) for name in own.registered if name in by_name}
    return [one for one in call.given if id(one) in held or not (isinstance(one, Unknown) or _is_read(one))]


def _is_read(value: Value) -> bool:
    """Return whether a value is but an attribute of an object of outside, of which nothing is known."""
    return isinstance(value, Instance) and value.cls is None and not value.kind and value.call is None and value.owner is not None


def handed_on(m: Walker, owners: Iterable[Instance]) -> tuple[list[Value], bool]:
    """Return what objects of outside may be or hand out of what they were given, with what is in that; and whether that may be anything."""
    own = list(owners)
    waiting, seen, is_open = list[Any](own), dict[int, Value](), False
    while waiting:
        for one in parts_of(waiting.pop()):
            if id(one) in seen:
                continue
            seen[id(one)] = one
            if isinstance(one, Instance):
                if one.cls is None and not is_tensor(one):
                    inner, may_be_any = given_to(m, one)
                    waiting += inner.values()
                    is_open = is_open or may_be_any
                waiting += one.slots.values() if one.cls is not None else one.written_slots().values()
            elif isinstance(one, (Items, Mapping)):
                waiting += one.slots.values()
                is_open = is_open or is_vague(one)
            elif isinstance(one, (Function, Bound)):  # it may be what that gives
                waiting += extend(Reach(), m.store, [one]).seen.values()
            is_open = is_open or isinstance(one, Unknown)
    return [one for one in seen.values() if one not in own], is_open


def _with(m: Walker, found: tuple[dict[int, Value], bool], given: Iterable[Value]) -> tuple[dict[int, Value], bool]:
    """Return what was given with some more; beyond some number it may be anything."""
    values = list(given)
    if not values:
        return found
    found = found[0], found[1] or any(isinstance(one, Unknown) or is_vague(one) for one in values)
    parts = {id(part): part for value in values for part in parts_of(value) if not isinstance(part, Unknown)}
    for part in parts.values():
        if isinstance(part, Instance) and part.cls is None:
            inner, is_open = given_to(m, part)
            found = ({**found[0], **inner}, found[1] or is_open)
    own = {at: part for at, part in parts.items() if not isinstance(part, Instance) or part.cls is not None or part.written_slots()}
    if not own:
        return found
    if len(found[0]) + len(own) > MOST_HELD:
        m.store.lose_inside([*found[0].values(), *own.values()], is_whole=True)
        return {}, True
    return {**found[0], **own}, found[1]


def hold(m: Walker, owner: Instance, given: Iterable[Value]) -> None:
    """An object of outside is given some values by one of its methods, and may keep them."""
    m.store.held[id(owner)] = (owner, *_with(m, given_to(m, owner), given))


def call_method(m: Walker, name: str, given: list[Value]) -> None:
    """A method of something unknown is called: that of anything which it may be."""
    if name == "send":  # a generator goes on with what it is given, and may change it whenever it goes on
        _forget_reached(m, Reach(changes=True, is_vague=True), list(given), is_lasting=True)
    is_changing = name in CHANGING
    if not is_changing and name not in m.methods and name not in m.holding:
        return
    m.store.blind += 1
    lost = list(m.store.lost.values())
    if is_changing and any(isinstance(one, (Items, Mapping)) for one in lost):
        change_items(m, Items("tuple", dict(enumerate(given))))
    _call_methods(m, lost, (name,), given)


def call_given(m: Walker, owner: Value | None, name: str, given: Iterable[Value]) -> None:
    """A method of an object of outside is called, or it itself where the name is '': it may be what it was given (`choice([f])()`)."""
    if not isinstance(owner, Instance) or owner.cls is not None or (name and name not in m.methods and name not in m.holding):
        return
    values, is_open = handed_on(m, [owner])
    if functions := [one for one in values if not name and isinstance(one, (Function, Bound, Class))]:
        not_followed(m, [*functions, *given])
    _call_methods(m, values, (name,) if name else CALLING, given)
    if is_open:
        call_method(m, name, list(given)) if name else call(m, list(given))


def _call_methods(m: Walker, objects: Iterable[Value], names: Iterable[str], given: Iterable[Value], is_any: bool = False) -> None:
    """Methods of some names that objects have are called; where that `is_any`, any function that is lost may be as well."""
    methods: list[Value] = []
    inherited: dict[int, list[Value]] = {}  # by class, of which there are few
    for one in objects if not (m.methods.isdisjoint(names) and m.holding.isdisjoint(names)) else ():
        if not isinstance(one, (Instance, Class)):
            continue
        cls = one.cls if isinstance(one, Instance) else one
        if cls is not None and id(cls) not in inherited:
            inherited[id(cls)] = [above.slots[name] for above in cls.lineage() for name in names if name in above.slots]
            methods += inherited[id(cls)]
        own = [] if one.slots.keys().isdisjoint(names) else [one.slots[name] for name in names if name in one.slots]
        methods += own
        if own or (cls is not None and inherited[id(cls)]):
            methods.append(one)
    if is_any:
        for value in given:
            m.store.lose(value)
        _forget_reached(m, Reach(), [*methods, *given, UNKNOWN])  # the last comes first: what is lost isn't looked through again then
    elif methods:
        not_followed(m, [*methods, *given])


def call(m: Walker, given: list[Value]) -> None:
    """Something unknown is called: any function of the program that it may be. It may keep what it is given."""
    m.store.blind += 1
    lost = list(m.store.lost.values())
    _call_methods(m, lost, CALLING, given, is_any=any(isinstance(one, (Function, Bound, Class)) for one in lost))
