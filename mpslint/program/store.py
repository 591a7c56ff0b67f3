"""The memory of the evaluator: every write goes through here, so that a path not taken for certain can be undone and merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from mpslint.core.record import record
from mpslint.facts.joined import join
from mpslint.facts.values import UNKNOWN, DictEntry, Names, Value

Writes = dict[tuple[int, Any], tuple[dict[Any, Any], Any, Any]]
"""(id of the slots, key) -> (the slots, key, value)."""

MISSING = object()


@record(slots=True)
class Store:
    """Writes to the slots of frames, objects and dicts; while a journal is open, what they replace is kept."""

    journals: list[Writes] = field(default_factory=list)

    def write(self, slots: dict[Any, Any], key: Any, value: Any) -> None:
        """Set `slots[key]`."""
        if self.journals:
            self.journals[-1].setdefault((id(slots), key), (slots, key, slots.get(key, MISSING)))
        slots[key] = value

    def delete(self, slots: dict[Any, Any], key: Any) -> None:
        """Remove `slots[key]`, if it is there."""
        if key in slots:
            if self.journals:
                self.journals[-1].setdefault((id(slots), key), (slots, key, slots[key]))
            del slots[key]

    def begin(self) -> None:
        """Open a journal: what is written from here on can be undone."""
        self.journals.append({})

    def undo(self) -> Writes:
        """Close the journal, put everything back, and return what had been written."""
        journal = self.journals.pop()
        written: Writes = {}
        for at, (slots, key, old) in journal.items():
            written[at] = (slots, key, slots.get(key, MISSING))
            if old is MISSING:
                slots.pop(key, None)
            else:
                slots[key] = old
        return written

    def redo(self, writes: Writes) -> None:
        """Write again what an `undo` returned."""
        for slots, key, value in writes.values():
            if value is MISSING:
                self.delete(slots, key)
            else:
                self.write(slots, key, value)

    def merge(self, *paths: Writes) -> None:
        """Write what is known after one of several paths was taken; a path that did not write kept the old value."""
        if len(paths) == 2:
            self.merge_nested(paths)
            return
        places: Writes = {}
        for path in paths:
            places.update(path)
        for at, (slots, key, _) in places.items():
            old = slots.get(key, MISSING)
            values = [path[at][2] if at in path else old for path in paths]
            present = [value for value in values if value is not MISSING]
            if not present:
                self.delete(slots, key)
                continue
            merged = present[0]
            for value in present[1:]:
                merged = _join(merged, value)
            if len(present) < len(values) and not isinstance(slots, Names):
                merged = DictEntry(UNKNOWN, merged.node) if isinstance(merged, DictEntry) else UNKNOWN
            self.write(slots, key, merged)

    def merge_nested(self, paths: Sequence[Writes]) -> None:
        """Do the same for paths each of which is the alternative to all that come after it, as those of a chain of `elif` are."""
        places: dict[tuple[int, Any], tuple[dict[Any, Any], Any, list[tuple[int, Any]]]] = {}
        for number, path in enumerate(paths):
            for at, (slots, key, value) in path.items():
                if at in places:
                    places[at][2].append((number, value))
                else:
                    places[at] = (slots, key, [(number, value)])
        last = len(paths) - 1
        for slots, key, written in places.values():
            old = slots.get(key, MISSING)
            number, merged = written[-1]
            if number < last:
                merged = _either(merged, old, slots)
            for before, value in written[-2::-1]:
                if before < number - 1:
                    merged = _either(old, merged, slots)  # once for all paths between: more of the same changes nothing
                merged, number = _either(value, merged, slots), before
            if number > 0:
                merged = _either(old, merged, slots)
            if merged is MISSING:
                self.delete(slots, key)
            elif merged is not old:
                self.write(slots, key, merged)


def _either(a: Any, b: Any, slots: dict[Any, Any]) -> Any:
    """Return what a slot holds after one of two paths, of which either may leave it without a value."""
    if a is b:
        return a
    if a is MISSING or b is MISSING:
        only = b if a is MISSING else a
        return only if isinstance(slots, Names) else DictEntry(UNKNOWN, only.node) if isinstance(only, DictEntry) else UNKNOWN
    return _join(a, b)


def _join(a: Value | DictEntry, b: Value | DictEntry) -> Value | DictEntry:
    if isinstance(a, DictEntry) and isinstance(b, DictEntry):
        return a if a is b else DictEntry(join(a.value, b.value), a.node)
    if isinstance(a, DictEntry) or isinstance(b, DictEntry):
        raise TypeError("a dict entry cannot be merged with a plain value")
    return join(a, b)
