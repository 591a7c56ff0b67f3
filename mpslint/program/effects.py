"""What may be written where it can't be seen: through a value that is not known, and by code that is not followed."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mpslint.facts.values import (
    CHILD,
    MAYBE,
    TRAIT,
    UNKNOWN,
    Bound,
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
from mpslint.program.places import CONTENT, Writes, parts_of
from mpslint.program.reach import CHANGING, Reach, extend, names_in, text_of_nodes, written_beside, written_by
from mpslint.program.walk import walk

MOST_HELD = 50
"""Values that an object of outside was given which are told apart."""
ITEM_METHODS = ("__setitem__", "__delitem__", "__iadd__", "__ior__")


def not_followed(m: Walker, values: Iterable[Value], is_lasting: bool = False, does_all: bool = False) -> None:
    """Forget what code that is not followed may write: functions among some values, with what it can reach from all of them.

    With `is_lasting` it may do so at any time from here on; code that `does_all` may change whatever it reaches.
    """
    m.store.blind += 1
    _forget_reached(m, Reach(changes=does_all, is_vague=does_all), list(values), is_lasting)


def _forget_reached(m: Walker, reach: Reach, values: list[Value], is_lasting: bool = False) -> None:
    """Forget what code with a reach may write, through some values that it has as well; for good where that `is_lasting`."""
    extend(reach, m.store, values, m.reach)
    places = written_beside(reach, m.reach, m.store, is_lasting) if reach.is_open else written_by(reach)
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
        stack: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
        found = False
        while stack and not found:
            one = stack.pop()
            found = isinstance(one, (ast.Yield, ast.YieldFrom))
            if not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
                stack += ast.iter_child_nodes(one)
        known["yields"] = found
    return bool(known["yields"])


def may_swallow(node: FunctionNode) -> bool:
    """Return whether a generator may catch an exception that it is given where it yields."""
    around = [one for one in walk(node) if isinstance(one, (ast.With, ast.AsyncWith)) or vars(one).get("handlers")]
    return is_generator(node) and any(isinstance(one, (ast.Yield, ast.YieldFrom)) for block in around for one in walk(block))


def change_items(m: Walker, given: Iterable[Value] = ()) -> None:
    """Something unknown is changed as a list or dict is: any of those that it may be. It may keep what it is given."""
    m.store.blind += 1
    lost = list(m.store.lost.values())
    for one in lost:
        if isinstance(one, (Items, Mapping)):
            m.store.forget(one, CONTENT)
        elif isinstance(one, Instance):
            for key in [key for key in one.slots if key == "item" or (key.__class__ is tuple and key[0] not in (TRAIT, CHILD))]:
                m.store.forget(one.slots, key)
    _call_methods(m, lost, ITEM_METHODS, given)
    for value in given if lost else ():
        m.store.lose(value)


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


def change_attribute(m: Walker, name: str, given: Value = UNKNOWN) -> None:
    """An attribute of something unknown is written or deleted: that of any object which it may be. It may keep what it is given."""
    m.store.blind += 1
    lost = list(m.store.lost.values())
    for one in lost:
        if isinstance(one, (Instance, Class)):
            cls = one if isinstance(one, Class) else one.cls
            own = cls.lookup(name) if cls is not None and isinstance(one, Instance) else None
            if isinstance(own, Function) and own.setter is not None:
                not_followed(m, [own.setter, one, given])
            else:
                m.store.forget(one.slots, name)
            for above in cls.lineage() if cls is not None and isinstance(one, Instance) else ():  # `type(one).name = ...`
                if name in above.slots and not isinstance(above.slots[name], Function):
                    m.store.forget(above.slots, name)
    if lost:
        m.store.lose(given)


def change_given(m: Walker, owner: Value, name: str, given: Iterable[Value] = ()) -> None:
    """An object of outside has an attribute of a name written, or its items changed where that is ''. It may be what it was given, or hand
    that out (a proxy, a queue), so the same may happen there.
    """
    if not isinstance(owner, Instance) or owner.cls is not None:
        return
    kept, is_open = _given_to(m, owner)
    if kept:
        seen = extend(Reach(), m.store, list(kept.values())).seen
        written = written_by(Reach(written={name} - {""}, changes=not name), [one for at, one in seen.items() if at != id(owner)])
        for place, key, _ in written.values():
            m.store.forget(place, key)
        for value in given if written else ():
            m.store.lose(value)
    if is_open:
        change_attribute(m, name, *given) if name else change_items(m, given)
        _forget_reached(m, Reach(written={name} - {""}, changes=not name), [UNKNOWN])


def _given_to(m: Walker, owner: Instance) -> tuple[dict[int, Value], bool]:
    """Return what an object of outside, and those that it comes from, were given that can be changed; and whether it may be anything."""
    path: list[Instance] = []
    one: Value | None = owner
    while isinstance(one, Instance) and one.cls is None and id(one) not in m.held:
        path.append(one)
        one = one.owner or (one.call.receiver if one.call is not None else None)
    found: tuple[dict[int, Value], bool] = m.held[id(one)][1:] if id(one) in m.held else ({}, False)
    if one is not None and id(one) not in m.held:
        found = _with(m, found, [one])
    for made in reversed(path):
        given = made.call.given if made.call is not None else []
        found = _with(m, (found[0], found[1] or (made.call is not None and not made.call.names)), given)
        m.held[id(made)] = (made, *found)
    return found


def _with(m: Walker, found: tuple[dict[int, Value], bool], given: Iterable[Value]) -> tuple[dict[int, Value], bool]:
    """Return what was given with some more; beyond some number it may be anything."""
    parts = {id(part): part for value in given for part in parts_of(value) if not isinstance(part, Unknown)}
    for part in parts.values():
        if isinstance(part, Instance) and part.cls is None:
            inner, is_open = _given_to(m, part)
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
    m.held[id(owner)] = (owner, *_with(m, _given_to(m, owner), given))


def call_method(m: Walker, name: str, given: list[Value]) -> None:
    """A method of something unknown is called: that of anything which it may be."""
    if name == "send":  # a generator goes on with what it is given, and may change it whenever it goes on
        _forget_reached(m, Reach(changes=True, is_vague=True), list(given), is_lasting=True)
    is_changing = name in CHANGING
    if not is_changing and name not in m.methods:
        return
    m.store.blind += 1
    lost = list(m.store.lost.values())
    if is_changing and any(isinstance(one, (Items, Mapping)) for one in lost):
        change_items(m, given)
    _call_methods(m, lost, (name,), given)


def _call_methods(m: Walker, objects: Iterable[Value], names: Iterable[str], given: Iterable[Value]) -> None:
    methods: list[Value] = []
    for one in objects:
        cls = one if isinstance(one, Class) else one.cls if isinstance(one, Instance) else None
        if found := [own.slots[name] for own in cls.lineage() for name in names if name in own.slots] if cls is not None else []:
            methods += [*found, one]
    if methods:
        not_followed(m, [*methods, *given])


def call(m: Walker, given: list[Value]) -> None:
    """Something unknown is called: any function of the program that it may be. It may keep what it is given."""
    m.store.blind += 1
    if not any(isinstance(one, (Function, Bound, Class)) for one in m.store.lost.values()):
        return
    for value in given:
        m.store.lose(value)
    _forget_reached(m, Reach(), [UNKNOWN])
