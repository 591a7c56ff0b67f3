"""The memory of the evaluator: every write goes through here, so that a path not taken for certain can be undone and merged."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from mpslint.core.record import record
from mpslint.facts.values import CHILD, MAYBE, UNKNOWN, Class, DictEntry, Instance, Items, Mapping, Names, Part, Unknown, Value
from mpslint.program.places import (
    CONTENT,
    HOLDING,
    MISSING,
    Place,
    Writes,
    content_of,
    either,
    inside,
    is_vague,
    parts_of,
    put_at,
    unknown_for,
    value_at,
)

_PASSING = (ast.Call, ast.Subscript, ast.IfExp, ast.BoolOp)
"""Expressions whose value may be one that is in them, or in something that is."""
_WITH_PARTS = HOLDING | {DictEntry, tuple}
"""The kinds of values that may have parts, and of what is no value, but may have some in it."""


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
    regained: dict[int, Part] = field(default_factory=dict)
    """Those of them that were lost, or written, since all lists and dicts of them were last forgotten."""
    lost_objects: dict[Class, dict[int, Instance]] = field(default_factory=dict)
    """Those of them that are objects of the program's classes, by their class."""
    holders: dict[int, Part] = field(default_factory=dict)
    """The lost objects by the ids of their slots, and the lost lists and dicts by their own: what is written there is lost as well."""
    held: dict[int, tuple[Instance, dict[int, Value], bool]] = field(default_factory=dict)
    """Objects of outside by their ids, with what they may keep or be, and whether that may be anything."""
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
        if value.__class__ not in _WITH_PARTS or id(value) in self.lost:
            return
        waiting = parts_of(value)
        while waiting:
            part = waiting.pop()
            if id(part) in self.lost or isinstance(part, Unknown):
                continue
            self.lost[id(part)] = self.regained[id(part)] = part
            self.newly_reached.append(part)
            if isinstance(part, Instance):
                if part.cls is not None:
                    self.lost_objects.setdefault(part.cls, {})[id(part)] = part
                self.holders[id(part.slots)] = part
                for inner in (part.slots if part.cls is not None else part.written_slots()).values():
                    waiting += parts_of(inner)
                waiting += self.kept_by(part)
            elif isinstance(part, (Items, Mapping)):
                self.holders[id(part)] = part
                for inner in part.slots.values():
                    waiting += parts_of(inner)

    def kept_by(self, one: Instance) -> list[Any]:
        """Return what an object of outside was given that can be changed, as far as that was noted."""
        return list(self.held[id(one)][1].values()) if id(one) in self.held else []

    def lost_since(self, before: int) -> list[Part]:
        """Return what was lost after the first of so many: nothing is taken out but what was lost last."""
        return list(itertools.islice(self.lost.values(), before, None))

    def forget_lost(self, before: int, since: int) -> None:
        """What was made since a count, and lost after the first of so many, was never there: the walk that made it is thrown away."""
        for part in self.lost_since(before):
            if part.born < since:
                continue
            at = id(part)
            del self.lost[at]
            self.regained.pop(at, None)
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

    def _note(self, at: tuple[int, Any], place: Place) -> None:
        self.version += 1
        for history in self.histories:
            history[at] = (place, at[1])

    def lose_operands(self, node: ast.expr, value: Value, operands: Sequence[Value]) -> None:
        """Note what the value of an expression may be, or hold, of the values of its parts."""
        if isinstance(value, Unknown) and isinstance(node, _PASSING):
            self.lose_inside(operands, is_whole=not isinstance(node, ast.Subscript))
        elif isinstance(value, Unknown) and isinstance(node, ast.BinOp):
            self.lose_inside(operands)
        elif is_vague(value) and not any(one is value for one in operands):
            held = {id(one) for one in inside(value)}
            self.lose((dict(enumerate(one for one in operands if id(one) not in held)), True))

    def _share(self, at: tuple[int, Any], place: Place, value: Any) -> None:
        """Note what a place now holds with whoever can get hold of the place where that can't be seen."""
        if (holder := self.holders.get(at[0])) is not None:
            self.regained[id(holder)] = holder
            self.lose(value)
        if at[0] in self.reached or at in self.reached:
            self.touched[at] = (place, at[1], value)
            self.newly_reached += parts_of(value)

    def write(self, slots: dict[Any, Any], key: Any, value: Any) -> None:
        """Set `slots[key]`."""
        at = id(slots), key
        self._note(at, slots)
        self._share(at, slots, value)
        if at[0] in self.several and isinstance(key, str):
            self.lose(({0: value, 1: slots.get(key)}, True))
            value = either(slots.get(key, MISSING), value, slots)
        if at in self.volatile:
            self.lose(value)
            value = DictEntry(UNKNOWN) if isinstance(value, DictEntry) else UNKNOWN
        if self.journals and at not in self.journals[-1]:
            self.journals[-1][at] = (slots, key, slots.get(key, MISSING))
        slots[key] = value

    def delete(self, slots: dict[Any, Any], key: Any) -> None:
        """Remove `slots[key]`, if it is there."""
        if key in slots and id(slots) in self.several:
            self.write(slots, key, MAYBE)
        elif key in slots:
            at = id(slots), key
            self._note(at, slots)
            if self.journals:
                self.journals[-1].setdefault(at, (slots, key, slots[key]))
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
        at = id(container), CONTENT
        self._note(at, container)
        self._share(at, container, (slots, is_open))
        if at in self.volatile:
            self.lose((slots, is_open))
            slots, is_open, each = {}, True, None
        if at[0] in self.several:
            self.lose(container)
            self.lose((slots, is_open))
            slots, is_open, each = either(content_of(container), (slots, is_open, each), container)
        if self.journals and at not in self.journals[-1]:
            self.journals[-1][at] = (container, CONTENT, value_at(container, CONTENT))
        put_at(container, CONTENT, (slots, is_open, each))

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
            put_at(place, key, old)
            self._share(at, place, old)
        return written

    def keep(self) -> None:
        """Close the journal, and leave everything as it was written."""
        journal = self.journals.pop()
        if self.journals:
            outer = self.journals[-1]
            for at, entry in journal.items():
                outer.setdefault(at, entry)

    def path(self) -> _Path:
        """Walk a path by itself: what is written within is undone at its end, and then in what is given."""
        return _Path(self)

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
                merged = either(merged, old, place)
            for before, value in written[-2::-1]:
                if before < number - 1:
                    merged = either(old, merged, place)  # once for all paths between: more of the same changes nothing
                merged, number = either(value, merged, place), before
            if number > 0:
                merged = either(old, merged, place)
            is_kept = len(written) < len(paths)
            if isinstance(place, Names) and ((is_kept and old is MISSING) or any(one is MISSING for _, one in written)):
                self.unsure.add((id(place), key))
            held = [value for value in (old, *(one for _, one in written)) if value.__class__ in _WITH_PARTS]
            if parts := [part for value in held for part in parts_of(value)]:
                kept = {id(part) for part in parts_of(merged)}
                for part in parts:
                    if id(part) not in kept:
                        self.lose(part)
            if merged is not old:
                self.put(place, key, merged)


class _Path:
    """A `with` block whose writes are undone at its end, and then in what it gives."""

    __slots__ = ("store", "written")

    def __init__(self, store: Store) -> None:
        self.store = store
        self.written: Writes = {}

    def __enter__(self) -> Writes:
        self.store.begin()
        return self.written

    def __exit__(self, *_: object) -> None:
        self.written.update(self.store.undo())
