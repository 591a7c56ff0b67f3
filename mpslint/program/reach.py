"""What some code can get hold of, and may write there: by its text, and by what its names stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import field
from types import MappingProxyType

from mpslint.core.record import record
from mpslint.facts.values import (
    MAYBE,
    UNKNOWN,
    Bound,
    Class,
    Frame,
    Function,
    FunctionNode,
    Instance,
    Items,
    Mapping,
    Names,
    Unknown,
    Value,
)
from mpslint.program.places import CONTENT, MUTABLE, Writes, inside, parts_of
from mpslint.program.store import Store
from mpslint.program.walk import walk

CHANGING = frozenset({*dir(list), *dir(dict), *dir(set)} - {*dir(tuple), *dir(frozenset), *dir(MappingProxyType)} | {"__ior__"})
"""The methods that change a list, dict or set."""
BY_NAME = frozenset({"setattr", "delattr", "vars", "exec", "eval", "globals", "locals"})
"""Functions that write what no syntax shows."""


@record(frozen=True)
class Text:
    """What the text of a function says of its effects, those of the functions in it included."""

    names: frozenset[str]
    """The names that it reads."""
    outer: frozenset[str]
    """The names of frames around it that it assigns."""
    read: frozenset[str]
    """The attributes that it reads."""
    written: frozenset[str]
    """The attributes that it writes, those of the object that a constructor makes left out."""
    changes: bool
    """Whether it changes a list or dict."""
    is_vague: bool
    """Whether it may write any attribute."""


@record()
class Reach:
    """All that some code can get hold of, and what it does to that. Where it `lasts`, what is written there later is to be added."""

    lasts: bool = False
    seen: dict[int, Value] = field(default_factory=dict)
    is_open: bool = False
    """Whether something unknown is in it: the code gets hold of all that is lost as well."""
    classes: list[Class] = field(default_factory=list)
    done: int = 0
    """How many of these classes were asked for the attributes that are read."""
    asked: set[str] = field(default_factory=set)
    """Those attributes."""
    outer: list[tuple[Frame, str]] = field(default_factory=list)
    """The names of frames around a function that it assigns, with the innermost of these frames."""
    read: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    changes: bool = False
    is_vague: bool = False
    text: tuple[int, int, bool, bool] = (0, 0, False, False)
    """How much was known of what it does, when that was last forgotten."""
    new: list[Value] = field(default_factory=list)
    """What was seen since, where it `lasts`."""


def written_by(reach: Reach, seen: Iterable[Value] | None = None, is_lasting: bool = False) -> Writes:
    """Return the places that may be written by code with this reach; `seen` is the part of it that is asked about, if not all.

    Attributes of which nothing is known now are left out, unless that `is_lasting`.
    """
    places: Writes = {}
    for start, name in reach.outer:
        if (frame := start.having(name)) is not None:
            places[id(frame.slots), name] = (frame.slots, name, UNKNOWN)
    for one in reach.seen.values() if seen is None else seen:
        kind = one.__class__
        if kind is Instance or kind is Class:
            slots = one.slots  # type: ignore[union-attr]
            names: Iterable[str] = reach.written
            if reach.is_vague:
                names = [name for name in slots if isinstance(name, str)]
            if isinstance(one, Instance) and one.cls is None:
                if not reach.is_vague and reach.written.isdisjoint(slots):
                    continue
                names = [name for name in names if name in slots and not one.only_read(name)]
            for name in names:
                value = slots.get(name)
                if (value is MAYBE or value is UNKNOWN) and not is_lasting:
                    continue
                if not isinstance(one.lookup(name) if isinstance(one, Class) else value, Function):
                    places[id(slots), name] = (slots, name, UNKNOWN)
        elif reach.changes and (kind is Mapping or (isinstance(one, Items) and one.kind in MUTABLE)):
            places[id(one), CONTENT] = (one, CONTENT, None)  # type: ignore[assignment]
    return places


def newly_written(reach: Reach, store: Store) -> Writes:
    """Return the places that may be written by code with a lasting reach, and of which something may be known since the last time."""
    waiting, store.newly_reached = store.newly_reached, []
    extend(reach, store, waiting)
    text = (len(reach.written), len(reach.outer), reach.changes, reach.is_vague)
    new = written_by(reach, reach.new if text == reach.text else None, True)
    reach.text, reach.new = text, []
    for at, (place, key, value) in store.touched.items():
        if (
            reach.changes if key is CONTENT else not isinstance(place, Names) and (reach.is_vague or key in reach.written)
        ) and not isinstance(value, Function):
            new[at] = (place, key, value)
    store.touched = {}
    return new


def written_beside(reach: Reach, lost: Reach, store: Store, is_all: bool = False) -> Writes:
    """Return the places that may be written by code with an open reach, with all that is lost and what that may do.

    Of what lost code may write there, only places of which something may be known since the last time are returned, unless `is_all`.
    """
    places = newly_written(lost, store)
    reach.read |= lost.read
    asked = lost.asked
    while new := reach.read - asked:
        asked = asked | new
        extend(reach, store, [cls.slots[name] for cls in lost.classes for name in cls.slots.keys() & new], lost)
    if not is_all:  # the lost code has done what it can do there
        more = Reach(written=reach.written - lost.written, changes=reach.changes > lost.changes, is_vague=reach.is_vague > lost.is_vague)
        if more.written or more.changes or more.is_vague:
            places.update(written_by(more, lost.seen.values()))
    reach.written |= lost.written
    reach.changes |= lost.changes
    reach.is_vague |= lost.is_vague
    if is_all:
        reach.outer += lost.outer
        reach.seen.update(lost.seen)
    places.update(written_by(reach, [one for at, one in reach.seen.items() if is_all or at not in lost.seen], is_all))
    return places


def extend(reach: Reach, store: Store, waiting: list[Value], lost: Reach | None = None) -> Reach:
    """Add all that can be got hold of through some values to a reach, and return it; what is lost anyhow is not looked through again."""
    seen, known = reach.seen, lost.seen if lost is not None else {}
    while True:
        while waiting:
            for one in parts_of(waiting.pop()):
                at = id(one)
                if at in seen or (reach.is_open and at in known):
                    continue
                seen[at] = one
                if one.__class__ is Unknown:
                    reach.is_open = True
                    continue
                waiting += _below(store, one, reach)
                if isinstance(one, Class):
                    reach.classes.append(one)
                if reach.lasts:
                    reach.new.append(one)
                    store.reached.add(id(one.slots) if isinstance(one, (Instance, Class)) else id(one))
        new = reach.read - reach.asked
        reach.asked |= new
        for number, cls in enumerate(reach.classes):
            waiting += [cls.slots[name] for name in cls.slots.keys() & (new if number < reach.done else reach.asked)]
        reach.done = len(reach.classes)
        if not waiting:
            return reach


def _below(store: Store, one: Value, reach: Reach) -> list[Value]:
    """Return what can be got hold of through a value at once."""
    if isinstance(one, (Items, Mapping)):
        return inside(one)
    if isinstance(one, Bound):
        return [one.receiver, *([one.function] if one.function is not None else [])]
    if isinstance(one, Instance):
        return [*one.slots.values(), *([one.cls] if one.cls is not None else store.kept_by(one))]
    if isinstance(one, Class):
        methods = [value for name, value in one.slots.items() if isinstance(value, Function) and str(name)[:2] == "__"]
        return [*methods, *(value for value in one.slots.values() if not isinstance(value, Function)), *one.bases]
    if not isinstance(one, Function):
        return []
    found = names_in(store, one.frame, text_of(one.node), reach)
    return [
        *found,
        *one.defaults,
        *(value for value in one.keyword_defaults if value is not None),
        *(accessor for accessor in (one.setter, one.deleter) if accessor is not None),
    ]


def names_in(store: Store, start: Frame, text: Text, reach: Reach) -> list[Value]:
    """Add what a text does, where it stands in a frame, to a reach, and return the values of its names."""
    reach.outer += [(start, name) for name in text.outer]
    reach.read |= text.read
    reach.written |= text.written
    reach.changes |= text.changes
    reach.is_vague |= text.is_vague
    if reach.lasts:
        frame: Frame | None = start
        while frame is not None:  # a name may be given a value later, in any of them
            store.reached.update([(id(frame.slots), name) for name in text.names])
            frame = frame.parent
    return [value for name in text.names if (frame := start.having(name)) is not None and (value := frame.slots.get(name)) is not None]


def text_of(node: FunctionNode) -> Text:
    """Return what the text of a function says of its effects."""
    known = vars(node)  # the runs of a project walk the same nodes
    if "effects" not in known:
        parameters = [*node.args.posonlyargs, *node.args.args]
        own = parameters[0].arg if parameters and getattr(node, "name", "") == "__init__" else None
        known["effects"] = text_of_nodes(list(walk(*(node.body if isinstance(node.body, list) else [node.body]))), own)
    text: Text = known["effects"]
    return text


def text_of_nodes(nodes: Sequence[ast.AST], own: str | None = None) -> Text:
    """Return what some nodes say of their effects; `own` is the object that a constructor makes."""
    names = frozenset(one.id for one in nodes if isinstance(one, ast.Name))
    attributes = [one for one in nodes if isinstance(one, ast.Attribute)]
    return Text(
        names,
        frozenset(name for one in nodes if isinstance(one, (ast.Global, ast.Nonlocal)) for name in one.names),
        frozenset(one.attr for one in attributes),
        frozenset(
            one.attr
            for one in attributes
            if not isinstance(one.ctx, ast.Load) and not (isinstance(one.value, ast.Name) and one.value.id == own)
        ),
        any(
            isinstance(one, ast.AugAssign)
            or (isinstance(one, ast.Subscript) and not isinstance(one.ctx, ast.Load))
            or (isinstance(one, ast.Attribute) and one.attr in CHANGING)
            for one in nodes
        ),
        not BY_NAME.isdisjoint(names) or any(one.attr == "__dict__" for one in attributes),
    )
