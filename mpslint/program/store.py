"""The memory of the evaluator: every write goes through here, so that a path not taken for certain can be undone and merged."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Sequence, Set
from dataclasses import field, replace
from typing import Any, TypeAlias

from mpslint.core.record import record
from mpslint.facts.joined import join, join_all
from mpslint.facts.values import (
    CHILD,
    MAYBE,
    UNKNOWN,
    Bound,
    Class,
    DictEntry,
    Function,
    Instance,
    Items,
    Mapping,
    Names,
    OneOf,
    Part,
    Unknown,
    Value,
)
from mpslint.tensors.traits import covers

Place: TypeAlias = "dict[Any, Any] | Items | Mapping"
"""The slots of a frame or an object; or a list or dict, whose content is one value."""
Writes: TypeAlias = dict[tuple[int, Any], tuple[Place, Any, Any]]
"""(id of the place, key) -> (the place, key, value)."""

Content: TypeAlias = tuple[dict[Any, Any], bool, Value | None]

MISSING = object()
CONTENT = object()
"""The key of the content of a list or dict: its slots, and whether there may be more."""


_PASSING = (ast.Call, ast.Subscript, ast.IfExp, ast.BoolOp)
"""Expressions whose value may be one that is in them, or in something that is."""


@record(slots=True)
class Store:
    """Writes to frames, objects, lists and dicts; while a journal is open, what they replace is kept."""

    journals: list[Writes] = field(default_factory=list)
    version: int = 0
    """How many writes there were."""
    histories: list[dict[Any, Any]] = field(default_factory=list)
    """What notes every place that is written, as its id and key -> it and the key."""
    volatile: dict[tuple[int, Any], Place] = field(default_factory=dict)
    """Places that may be written at any time, by a generator say: nothing is ever known of them."""

    lost: dict[int, Part] = field(default_factory=dict)
    """Lists, dicts, objects and functions that something which is not known may be, with what is in them: it may be written there."""
    lost_objects: dict[Class, dict[int, Instance]] = field(default_factory=dict)
    """Those of them that are objects of the program's classes, by their class."""
    holders: dict[int, Part] = field(default_factory=dict)
    """The lost objects by the ids of their slots, and the lost lists and dicts by their own: what is written there is lost as well."""
    reached: set[int | tuple[int, Any]] = field(default_factory=set)
    """Where lies what a lost function can get hold of: ids of slots, lists and dicts, and names of frames as (id of the slots, name)."""
    newly_reached: list[Value] = field(default_factory=list)
    """What was lost, or written there, since that was last worked out."""
    touched: Writes = field(default_factory=dict)
    """What was written there, or put back, since then."""
    blind: int = 0
    """How often something was written through what is not known."""
    unsure: set[tuple[int, Any]] = field(default_factory=set)
    """Names that only some paths set."""
    several: dict[int, Place] = field(default_factory=dict)
    """The lists, dicts and slots of objects, by their ids, that stand for many: what is written is written to one of these."""

    def stand_for_many(self, value: Any, since: int) -> None:
        """Note that what a value is, or holds, and that was made since a count, stands for one such thing in each of many rounds."""
        waiting = parts_of(value)
        while waiting:
            part = waiting.pop()
            if not isinstance(part, (Items, Mapping, Instance)) or part.born < since:
                continue
            place: Place = part.slots if isinstance(part, Instance) else part
            if id(place) not in self.several:
                self.several[id(place)] = place
                waiting += parts_of((part.slots, True))

    def lose(self, value: Any) -> None:
        """Note that something which is not known may be this value, or what is in it."""
        waiting = parts_of(value)
        while waiting:
            part = waiting.pop()
            if id(part) in self.lost or isinstance(part, Unknown):
                continue
            self.lost[id(part)] = part
            self.newly_reached.append(part)
            if isinstance(part, Instance):
                if part.cls is not None:
                    self.lost_objects.setdefault(part.cls, {})[id(part)] = part
                self.holders[id(part.slots)] = part
                for inner in (part.slots if part.cls is not None else part.written_slots()).values():
                    waiting += parts_of(inner)
            elif isinstance(part, (Items, Mapping)):
                self.holders[id(part)] = part
                for inner in part.slots.values():
                    waiting += parts_of(inner)

    def forget_lost(self, before: Set[int], since: int) -> None:
        """What was made since a count, and lost only after some others were, was never there: the walk that made it is thrown away."""
        for at, part in [(at, part) for at, part in self.lost.items() if at not in before and part.born >= since]:
            del self.lost[at]
            if isinstance(part, Instance) and part.cls is not None:
                del self.lost_objects[part.cls][at]
            self.holders.pop(id(part.slots) if isinstance(part, Instance) else at, None)

    def lose_inside(self, values: Sequence[Value], is_whole: bool = False) -> None:
        """Note that something which is not known may be an item of one of these values, or one of them where that `is_whole`."""
        for value in values:
            for part in parts_of(value):
                if isinstance(part, (Items, Mapping)):
                    for inner in part.slots.values():
                        self.lose(inner)
            if is_whole:
                self.lose(value)

    def _note(self, place: Place, key: Any) -> None:
        self.version += 1
        for history in self.histories:
            history[id(place), key] = (place, key)

    def lose_operands(self, node: ast.expr, value: Value, operands: Sequence[Value]) -> None:
        """Note what the value of an expression may be, or hold, of the values of its parts."""
        if isinstance(value, Unknown) and isinstance(node, _PASSING):
            self.lose_inside(operands, is_whole=not isinstance(node, ast.Subscript))
        elif isinstance(value, (Items, Mapping)) and content_of(value)[1]:
            self.lose_inside(operands)

    def _share(self, place: Place, key: Any, value: Any) -> None:
        """Note what a place now holds with whoever can get hold of the place where that can't be seen."""
        if id(place) in self.holders:
            self.lose(value)
        if id(place) in self.reached or (id(place), key) in self.reached:
            self.touched[id(place), key] = (place, key, value)
            self.newly_reached += parts_of(value)

    def write(self, slots: dict[Any, Any], key: Any, value: Any) -> None:
        """Set `slots[key]`."""
        self._note(slots, key)
        self._share(slots, key, value)
        if id(slots) in self.several and isinstance(key, str):
            self.lose(({0: value, 1: slots.get(key)}, True))
            value = _either(slots.get(key, MISSING), value, slots)
        if (id(slots), key) in self.volatile:
            self.lose(value)
            value = DictEntry(UNKNOWN) if isinstance(value, DictEntry) else UNKNOWN
        if self.journals:
            self.journals[-1].setdefault((id(slots), key), (slots, key, slots.get(key, MISSING)))
        slots[key] = value

    def delete(self, slots: dict[Any, Any], key: Any) -> None:
        """Remove `slots[key]`, if it is there."""
        if key in slots and id(slots) in self.several:
            self.write(slots, key, MAYBE)
        elif key in slots:
            self._note(slots, key)
            if self.journals:
                self.journals[-1].setdefault((id(slots), key), (slots, key, slots[key]))
            del slots[key]

    def change(self, container: Items | Mapping, slots: dict[Any, Any], is_open: bool, each: Value | None = None) -> None:
        """Give a list or dict another content; `slots` must be its own, or what it has, and `each` what all others have in common."""
        before = container.slots
        if is_open and slots is not before:  # what it had may still be in it, where nothing shows it
            kept = set(map(id, slots.values()))
            self.lose(({key: one for key, one in before.items() if id(one) not in kept}, True))
        self._change(container, slots, is_open, each)
        if isinstance(container, Mapping) and container.owner is not None:
            own = container.owner.slots  # which may have changed since the dict was looked at: what differs is written, and no more
            for key in [key for key in own if isinstance(key, str) and key not in slots and (key in before or not is_open)]:
                self.write(own, key, MAYBE) if is_open else self.delete(own, key)
            for key, entry in slots.items():
                if before.get(key) is not entry:
                    self.write(own, key, entry.value if entry.is_sure else MAYBE)

    def _change(self, container: Items | Mapping, slots: dict[Any, Any], is_open: bool, each: Value | None) -> None:
        self._note(container, CONTENT)
        self._share(container, CONTENT, (slots, is_open))
        if (id(container), CONTENT) in self.volatile:
            self.lose((slots, is_open))
            slots, is_open, each = {}, True, None
        if id(container) in self.several:
            self.lose(({0: container, 1: Items("list", slots)}, True))
            slots, is_open, each = _either(content_of(container), (slots, is_open, each), container)
        if self.journals:
            self.journals[-1].setdefault((id(container), CONTENT), (container, CONTENT, value_at(container, CONTENT)))
        _put(container, CONTENT, (slots, is_open, each))

    def put(self, place: Place, key: Any, value: Any) -> None:
        """Write what an `undo` or a `since` says of a place."""
        if isinstance(place, (Items, Mapping)):
            self._change(place, *value)
        elif value is MISSING:
            self.delete(place, key)
        else:
            self.write(place, key, value)

    def forget(self, place: Place, key: Any, unknown: Value = UNKNOWN) -> None:
        """Write that nothing is known of a place. What an object may have been given it may have on every path: that is never undone."""
        old = value_at(place, key)
        if old is unknown or old is MAYBE or (isinstance(old, DictEntry) and old.value is unknown):
            return
        if old is MISSING and isinstance(place, dict) and not isinstance(place, Names):
            place[key] = MAYBE
            return
        self.lose(old)
        if isinstance(place, dict) or old[0] or not old[1] or place.each is not None:
            self.put(place, key, unknown_for(place, old, unknown))
        if isinstance(place, Mapping) and place.owner is not None:
            for name in [name for name in place.owner.slots if isinstance(name, str)]:
                self.forget(place.owner.slots, name, MAYBE)

    def begin(self) -> None:
        """Open a journal: what is written from here on can be undone."""
        self.journals.append({})

    def undo(self) -> Writes:
        """Close the journal, put everything back, and return what had been written."""
        journal = self.journals.pop()
        written: Writes = {}
        for at, (place, key, old) in journal.items():
            written[at] = (place, key, value_at(place, key))
            old = unknown_for(place, old) if at in self.volatile and old is not MISSING else old
            _put(place, key, old)
            self._share(place, key, old)
        return written

    def keep(self) -> None:
        """Close the journal, and leave everything as it was written."""
        journal = self.journals.pop()
        if self.journals:
            outer = self.journals[-1]
            for at, entry in journal.items():
                outer.setdefault(at, entry)

    @contextlib.contextmanager
    def path(self) -> Iterator[Writes]:
        """Walk a path by itself: what is written within is undone at its end, and then in what is given."""
        written: Writes = {}
        self.begin()
        try:
            yield written
        finally:
            written.update(self.undo())

    def since(self, journal: int) -> Writes:
        """Return what was written since the journal of a number was opened, and is there now."""
        return {at: (place, key, value_at(place, key)) for one in self.journals[journal:] for at, (place, key, _) in one.items()}

    def redo(self, writes: Writes) -> None:
        """Write again what an `undo` returned."""
        for place, key, value in writes.values():
            self.put(place, key, value)

    def merge(self, *paths: Writes) -> None:
        """Write what is known after one of several paths was taken; a path that did not write kept the old value."""
        if len(paths) == 1:
            self.redo(paths[0])
            return
        self.merge_nested(paths)

    def merge_nested(self, paths: Sequence[Writes]) -> None:
        """Do the same for paths each of which is the alternative to all that come after it, as those of a chain of `elif` are."""
        places: dict[tuple[int, Any], tuple[Place, Any, list[tuple[int, Any]]]] = {}
        for number, path in enumerate(paths):
            for at, (place, key, value) in path.items():
                if at in places:
                    places[at][2].append((number, value))
                else:
                    places[at] = (place, key, [(number, value)])
        last = len(paths) - 1
        for place, key, written in places.values():
            old = value_at(place, key)
            if old is MISSING and isinstance(key, tuple) and key[0] == CHILD:
                self.put(place, key, written[-1][1])  # what may be registered with a module may move with it
                continue
            number, merged = written[-1]
            if number < last:
                merged = _either(merged, old, place)
            for before, value in written[-2::-1]:
                if before < number - 1:
                    merged = _either(old, merged, place)  # once for all paths between: more of the same changes nothing
                merged, number = _either(value, merged, place), before
            if number > 0:
                merged = _either(old, merged, place)
            is_kept = len(written) < len(paths)
            if isinstance(place, Names) and ((is_kept and old is MISSING) or any(one is MISSING for _, one in written)):
                self.unsure.add((id(place), key))
            if parts := [part for value in (old, *(one for _, one in written)) for part in parts_of(value)]:
                kept = {id(part) for part in parts_of(merged)}
                for part in parts:
                    if id(part) not in kept:
                        self.lose(part)
            if merged is not old:
                self.put(place, key, merged)


def parts_of(value: Any) -> list[Part | Unknown]:
    """Return the lists, dicts, objects and functions that a value, or the content of a list or dict, is or holds at once."""
    kind = value.__class__
    if kind in _PARTS:
        return [value]
    if kind not in _WHOLES:
        return []
    found: list[Part | Unknown] = []
    waiting, seen = [value], set()
    while waiting:
        one = waiting.pop()
        kind = one.__class__
        if kind in _PARTS or (kind is Items and one.kind in ("list", "set")):
            found.append(one)
        elif kind in _WHOLES and id(one) not in seen:  # a tuple may hold the same one twice, and that one as well
            seen.add(id(one))
            if kind is DictEntry:
                waiting.append(one.value)
            else:
                waiting += reversed(one.values if kind is OneOf else (one[0] if kind is tuple else one.slots).values())
    return found


_WHOLES = frozenset({DictEntry, Items, OneOf, tuple})
_PARTS = frozenset({Mapping, Instance, Class, Function, Bound, Unknown})
HOLDING = frozenset({*_PARTS, Items, OneOf} - {Unknown})
"""The kinds of values that may have parts."""


def entries_of(owner: Instance) -> dict[Any, Any]:
    """Return the entries of the `__dict__` of an object."""
    return {key: DictEntry(value, None, value is not MAYBE) for key, value in owner.slots.items() if isinstance(key, str)}


def value_at(place: Place, key: Any) -> Any:
    """Return what a place holds; MISSING for a slot without a value."""
    if isinstance(place, dict):
        return place.get(key, MISSING)
    return content_of(place)


def unknown_for(place: Place, old: Any, unknown: Value = UNKNOWN) -> Any:
    """Return what stands in a place of which nothing is known any more; an attribute that it did not have it may have now."""
    if not isinstance(place, dict):
        return {}, True, None
    if isinstance(old, DictEntry):
        return DictEntry(unknown)
    return MAYBE if old in (MISSING, MAYBE) and not isinstance(place, Names) else unknown


def content_of(container: Items | Mapping) -> Content:
    """Return the slots of a list or dict, whether there may be more, and what these have in common."""
    return container.slots, container.open if isinstance(container, Items) else container.is_open, container.each


def widened(place: Items | Mapping, old: Content, new: Content) -> Content | None:
    """Return what is known of a list or dict however often it is changed from `old` to `new`; None where `old` holds for it."""
    (first, first_open, first_each), (second, second_open, second_each) = old, new
    if isinstance(place, Items):
        if place.kind == "set":
            return None if first_open and not first else ({}, True, None)
        kept = {}
        for index, value in sorted(first.items()):
            if second.get(index) is not value:
                break
            kept[index] = value
        beyond = [value for slots in (first, second) for index, value in slots.items() if index not in kept]
        others = [one or UNKNOWN for one, is_open in ((first_each, first_open), (second_each, second_open)) if is_open]
        each = join_all([*others, *beyond])
        is_same = first_open and len(kept) == len(first) and (first_each is None or covers(first_each, each))
        return None if is_same else (kept, True, None if each is UNKNOWN else each)
    same_keys = list(first) == list(second)
    merged = {
        key: entry if second.get(key) is entry or _is_vague(entry, _is_sure(second.get(key))) else _vague(entry, _is_sure(second.get(key)))
        for key, entry in first.items()
    }
    merged.update({key: _vague(entry, False) for key, entry in second.items() if key not in first})
    is_open = first_open or second_open or not same_keys
    holds = is_open == first_open and len(merged) == len(first) and all(merged[key] is entry for key, entry in first.items())
    return None if holds else (merged, is_open, None)


def _is_sure(entry: Any) -> bool:
    return isinstance(entry, DictEntry) and entry.is_sure


def _is_vague(entry: Any, is_there: bool) -> bool:
    return isinstance(entry, DictEntry) and isinstance(entry.value, Unknown) and (is_there or not entry.is_sure)


def _vague(entry: Any, is_there: bool) -> Any:
    return DictEntry(UNKNOWN, entry.node, is_there and entry.is_sure) if isinstance(entry, DictEntry) else entry


def _put(place: Place, key: Any, value: Any) -> None:
    if isinstance(place, Items):
        place.slots, place.open, place.each = value
    elif isinstance(place, Mapping):
        place.slots, place.is_open, place.each = value
    elif value is MISSING:
        place.pop(key, None)
    else:
        place[key] = value


def _either(a: Any, b: Any, place: Place) -> Any:
    """Return what a place holds after one of two paths, of which either may leave it without a value."""
    if a is b:
        return a
    if isinstance(place, Items):
        return _either_items(a, b, place.kind == "set")
    if isinstance(place, Mapping):
        return _either_entries(a, b)
    if a is MISSING or b is MISSING:
        only = b if a is MISSING else a
        return only if isinstance(place, Names) else DictEntry(UNKNOWN, only.node) if isinstance(only, DictEntry) else MAYBE
    return MAYBE if a is MAYBE or b is MAYBE else _join(a, b)


def _either_items(a: Content, b: Content, is_set: bool) -> Any:
    """Return the content of a list that is one of two: what both begin with, and maybe more where they are not equally long."""
    (first, first_open, first_each), (second, second_open, second_each) = a, b
    is_open = first_open or second_open or len(first) != len(second)
    if is_set:
        return (first, is_open, None) if first == second else ({}, True, None)
    kept = {index: join(value, second[index]) for index, value in first.items() if index in second}
    beyond = [value for slots in (first, second) for index, value in slots.items() if index not in kept]
    others = [one or UNKNOWN for one, may_be_more in ((first_each, first_open), (second_each, second_open)) if may_be_more]
    each = join_all([*others, *beyond]) if is_open else None
    return kept, is_open, None if each is UNKNOWN else each


def _either_entries(a: Content, b: Content) -> Any:
    """Return the content of a dict that is one of two; where their keys or the order of these differ, there may be more or others."""
    (first, first_open, _), (second, second_open, _) = a, b
    merged = {key: _join(entry, second[key]) if key in second else _unsure(entry, second_open) for key, entry in first.items()}
    merged.update({key: _unsure(entry, first_open) for key, entry in second.items() if key not in first})
    return merged, first_open or second_open or list(first) != list(second), None


def _unsure(entry: Any, is_open: bool) -> Any:
    """Return an entry that only one of two paths has for certain; where the other's dict `is_open`, that may have it with another value."""
    if not isinstance(entry, DictEntry):
        return entry
    return DictEntry(UNKNOWN, entry.node, False) if is_open else replace(entry, is_sure=False)


def _join(a: Value | DictEntry, b: Value | DictEntry) -> Value | DictEntry:
    if isinstance(a, DictEntry) and isinstance(b, DictEntry):
        return a if a is b else DictEntry(join(a.value, b.value), a.node, a.is_sure and b.is_sure)
    if isinstance(a, DictEntry) or isinstance(b, DictEntry):
        return a if isinstance(a, DictEntry) else b
    return join(a, b)
