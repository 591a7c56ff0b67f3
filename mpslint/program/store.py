"""The memory of the evaluator: every write goes through here, so that a path not taken for certain can be undone and merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any, TypeAlias

from mpslint.core.record import record
from mpslint.facts.joined import join, join_all
from mpslint.facts.values import MAYBE, UNKNOWN, DictEntry, Items, Mapping, Names, Unknown, Value
from mpslint.tensors.traits import covers

Place: TypeAlias = "dict[Any, Any] | Items | Mapping"
"""The slots of a frame or an object; or a list or dict, whose content is one value."""
Writes: TypeAlias = dict[tuple[int, Any], tuple[Place, Any, Any]]
"""(id of the place, key) -> (the place, key, value)."""

Content: TypeAlias = tuple[dict[Any, Any], bool, Value | None]

MISSING = object()
CONTENT = object()
"""The key of the content of a list or dict: its slots, and whether there may be more."""


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

    def _note(self, place: Place, key: Any) -> None:
        self.version += 1
        for history in self.histories:
            history[id(place), key] = (place, key)

    def write(self, slots: dict[Any, Any], key: Any, value: Any) -> None:
        """Set `slots[key]`."""
        self._note(slots, key)
        if (id(slots), key) in self.volatile:
            value = DictEntry(UNKNOWN) if isinstance(value, DictEntry) else UNKNOWN
        if self.journals:
            self.journals[-1].setdefault((id(slots), key), (slots, key, slots.get(key, MISSING)))
        slots[key] = value

    def delete(self, slots: dict[Any, Any], key: Any) -> None:
        """Remove `slots[key]`, if it is there."""
        if key in slots:
            self._note(slots, key)
            if self.journals:
                self.journals[-1].setdefault((id(slots), key), (slots, key, slots[key]))
            del slots[key]

    def change(self, container: Items | Mapping, slots: dict[Any, Any], is_open: bool, each: Value | None = None) -> None:
        """Give a list or dict another content; `slots` must be a dict of its own, `each` what all others have in common."""
        self._note(container, CONTENT)
        if (id(container), CONTENT) in self.volatile:
            slots, is_open, each = {}, True, None
        if self.journals:
            self.journals[-1].setdefault((id(container), CONTENT), (container, CONTENT, value_at(container, CONTENT)))
        _put(container, CONTENT, (slots, is_open, each))

    def put(self, place: Place, key: Any, value: Any) -> None:
        """Write what an `undo` or a `since` says of a place."""
        if isinstance(place, (Items, Mapping)):
            self.change(place, *value)
        elif value is MISSING:
            self.delete(place, key)
        else:
            self.write(place, key, value)

    def forget(self, place: Place, key: Any, unknown: Value = UNKNOWN) -> None:
        """Write that nothing is known of a place."""
        if not isinstance(place, dict):
            self.change(place, {}, True)
        elif place.get(key) is not unknown:
            self.write(place, key, DictEntry(unknown) if isinstance(place.get(key), DictEntry) else unknown)

    def begin(self) -> None:
        """Open a journal: what is written from here on can be undone."""
        self.journals.append({})

    def undo(self) -> Writes:
        """Close the journal, put everything back, and return what had been written."""
        journal = self.journals.pop()
        written: Writes = {}
        for at, (place, key, old) in journal.items():
            written[at] = (place, key, value_at(place, key))
            _put(place, key, old)
        return written

    def keep(self) -> None:
        """Close the journal, and leave everything as it was written."""
        journal = self.journals.pop()
        if self.journals:
            outer = self.journals[-1]
            for at, entry in journal.items():
                outer.setdefault(at, entry)

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
            number, merged = written[-1]
            if number < last:
                merged = _either(merged, old, place)
            for before, value in written[-2::-1]:
                if before < number - 1:
                    merged = _either(old, merged, place)  # once for all paths between: more of the same changes nothing
                merged, number = _either(value, merged, place), before
            if number > 0:
                merged = _either(old, merged, place)
            if merged is not old:
                self.put(place, key, merged)


def value_at(place: Place, key: Any) -> Any:
    """Return what a place holds; MISSING for a slot without a value."""
    if isinstance(place, dict):
        return place.get(key, MISSING)
    return content_of(place)


def unknown_at(key: Any) -> Any:
    """Return what is written at a place of which nothing is known."""
    return ({}, True, None) if key is CONTENT else UNKNOWN


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
        key: entry if second.get(key) is entry or _is_vague(entry, key in second) else _vague(entry, key in second)
        for key, entry in first.items()
    }
    merged.update({key: _vague(entry, False) for key, entry in second.items() if key not in first})
    is_open = first_open or second_open or not same_keys
    holds = is_open == first_open and len(merged) == len(first) and all(merged[key] is entry for key, entry in first.items())
    return None if holds else (merged, is_open, None)


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
    merged = {key: _join(entry, second[key]) if key in second else _unsure(entry) for key, entry in first.items()}
    merged.update({key: _unsure(entry) for key, entry in second.items() if key not in first})
    return merged, first_open or second_open or list(first) != list(second), None


def _unsure(entry: Any) -> Any:
    return replace(entry, is_sure=False) if isinstance(entry, DictEntry) else entry


def _join(a: Value | DictEntry, b: Value | DictEntry) -> Value | DictEntry:
    if isinstance(a, DictEntry) and isinstance(b, DictEntry):
        return a if a is b else DictEntry(join(a.value, b.value), a.node, a.is_sure and b.is_sure)
    if isinstance(a, DictEntry) or isinstance(b, DictEntry):
        return a if isinstance(a, DictEntry) else b
    return join(a, b)
