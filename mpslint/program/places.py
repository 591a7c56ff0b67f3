"""Places that a program writes to, what they hold, and what a place holds of which only some paths wrote something."""

from __future__ import annotations

import builtins
from collections import deque
from dataclasses import replace
from typing import Any, TypeAlias

from mpslint.facts.joined import join, join_all
from mpslint.facts.values import (
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
    alternatives_of,
)
from mpslint.tensors.traits import covers, has_traits

Place: TypeAlias = "dict[Any, Any] | Items | Mapping"
"""The slots of a frame or an object; or a list or dict, whose content is one value."""
Writes: TypeAlias = dict[tuple[int, Any], tuple[Place, Any, Any]]
"""(id of the place, key) -> (the place, key, value)."""

Content: TypeAlias = tuple[dict[Any, Any], bool, Value | None]

MISSING = object()
CONTENT = object()
"""The key of the content of a list or dict: its slots, and whether there may be more."""
BOUNDED = "bounded deque"
"""The kind of a `collections.deque` that drops items at its other end, which isn't followed."""
TYPES: dict[str, Any] = {**vars(builtins), **dict.fromkeys(("deque", BOUNDED), deque)}
"""The type of Python's own of each kind of list."""
ORDERED = frozenset({"list", "deque", BOUNDED})
MUTABLE = ORDERED | {"set"}


def parts_of(value: Any) -> list[Part | Unknown]:
    """Return the lists, dicts, objects and functions that a value, or the content of a list or dict, is or holds at once."""
    kind = value.__class__
    if kind in _PARTS or (kind is Items and value.kind in MUTABLE):
        return [value]
    if kind is DictEntry:
        return parts_of(value.value)
    if kind not in _WHOLES or (kind is tuple and not value[0]):
        return []
    found: list[Part | Unknown] = []
    waiting, seen = [value], set()
    while waiting:
        one = waiting.pop()
        kind = one.__class__
        if kind in _PARTS or (kind is Items and one.kind in MUTABLE):
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
    return place.slots, place.open if place.__class__ is Items else place.is_open, place.each  # type: ignore[union-attr]


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


def inside(value: Value) -> list[Value]:
    """Return what is known to be in a list, a tuple or a dict."""
    found = value.slots.values() if isinstance(value, (Items, Mapping)) else ()
    return [one.value if isinstance(one, DictEntry) else one for one in found]


def is_vague(value: Value) -> bool:
    """Return whether a list or dict may hold more than is known of it, or something that isn't known; lists in it included."""
    if value.__class__ is not Mapping and value.__class__ not in _WHOLES:
        return False
    waiting, seen = [value], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:  # a tuple may hold the same one twice, and that one as well
            continue
        seen.add(id(one))
        if isinstance(one, OneOf):
            waiting += one.values
        elif isinstance(one, (Items, Mapping)):
            found = inside(one)
            if content_of(one)[1] or any(inner.__class__ is Unknown for inner in found):
                return True
            waiting += [inner for inner in found if isinstance(inner, Items)]
    return False


def _differs(value: Value, since: int) -> bool:
    """Return whether a value is another one each time that it is made: an object without traits, or a dict, made since a count."""
    if isinstance(value, Items) and not value.open:
        return any(_differs(one, since) for one in value.slots.values())
    return isinstance(value, (Items, Mapping, Instance, Function)) and value.born >= since and not has_traits(value)


def widened(place: Items | Mapping, old: Content, new: Content, since: int) -> Content | None:
    """Return what is known of a list or dict however often it is changed from `old` to `new` by what began at a count of all that is made.

    None where `old` holds for it.
    """
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
        if any(_differs(one, since) for one in alternatives_of(each)):
            each = UNKNOWN
        is_same = first_open and len(kept) == len(first) and (first_each is None or covers(first_each, each))
        return None if is_same else (kept, True, None if each is UNKNOWN else each)
    same_keys = list(first) == list(second)
    merged = {
        key: entry
        if second.get(key) is entry or _is_unknown(entry, _is_sure(second.get(key)))
        else _vague(entry, _is_sure(second.get(key)))
        for key, entry in first.items()
    }
    merged.update({key: _vague(entry, False) for key, entry in second.items() if key not in first})
    is_open = first_open or second_open or not same_keys
    joined = join(first_each, second_each) if first_each is not None and second_each is not None else None
    shared = joined if joined in (first_each, second_each) or isinstance(joined, Unknown) else None
    holds = is_open == first_open and shared is first_each and len(merged) == len(first)
    return None if holds and all(merged[key] is entry for key, entry in first.items()) else (merged, is_open, shared)


def _is_sure(entry: Any) -> bool:
    return isinstance(entry, DictEntry) and entry.is_sure


def _is_unknown(entry: Any, is_there: bool) -> bool:
    return isinstance(entry, DictEntry) and isinstance(entry.value, Unknown) and (is_there or not entry.is_sure)


def _vague(entry: Any, is_there: bool) -> Any:
    return DictEntry(UNKNOWN, entry.node, is_there and entry.is_sure) if isinstance(entry, DictEntry) else entry


def put_at(place: Place, key: Any, value: Any) -> None:
    if isinstance(place, Items):
        place.slots, place.open, place.each = value
    elif isinstance(place, Mapping):
        place.slots, place.is_open, place.each = value
    elif value is MISSING:
        place.pop(key, None)
    else:
        place[key] = value


def either(a: Any, b: Any, place: Place) -> Any:
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
    (first, first_open, first_each), (second, second_open, second_each) = a, b
    each = join(first_each, second_each) if first_each is not None and second_each is not None else None
    merged = {key: _join(entry, second[key]) if key in second else _unsure(entry, second_open) for key, entry in first.items()}
    merged.update({key: _unsure(entry, first_open) for key, entry in second.items() if key not in first})
    return merged, first_open or second_open or list(first) != list(second), each


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
