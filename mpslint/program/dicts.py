"""Dicts as a program changes them in place, by methods and by `del`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mpslint.facts.joined import is_sure_key, join
from mpslint.facts.values import MAYBE, UNKNOWN, Argument, DictEntry, Items, Known, Mapping, Value, settled, weakened
from mpslint.program import choices, iterating, lists
from mpslint.program.exits import Raised, may_raise
from mpslint.program.machine import Walker
from mpslint.program.reach import CHANGING
from mpslint.tensors import gone_through
from mpslint.tensors.arguments import CallArguments


def call_method(m: Walker, receiver: Mapping, name: str, arguments: CallArguments, node: ast.Call) -> Value:
    if name in ("get", "pop", "setdefault"):
        first, *rest = arguments.positional or (Argument(UNKNOWN, None),)
        found = _entry_method(m, receiver, name, first.value, rest, node)
        if name != "get":
            return found
        return choices.looked_up(m, node, first.value, found, lambda other: _entry_method(m, receiver, name, other, rest, node))
    if name == "update":
        for argument in arguments.positional:
            _update(m, receiver, argument.value)
        for key, argument in arguments.keywords.items():
            m.write_entry(receiver, key, DictEntry(settled(argument.value), argument.node))
        if arguments.is_open:
            _forget(m, receiver, UNKNOWN)
        return Known(None, node)
    if name == "copy":
        return Mapping(dict(receiver.slots), receiver.origin, receiver.is_open)
    if name in ("items", "values", "keys"):
        each = None if name == "keys" else gone_through.entry_of(receiver, name, node)
        return iterating.as_pairs(receiver, name, node) or Items("iterator", {}, node, True, each)
    if name == "clear":
        m.store.change(receiver, {}, False)
        return Known(None, node)
    if name == "popitem":
        return _pop_last(m, receiver, node)
    if name in CHANGING:
        m.store.lose_inside([receiver, *arguments.all], is_whole=True)
        forget_entries(m, receiver)
    return UNKNOWN


def _pop_last(m: Walker, receiver: Mapping, node: ast.Call) -> Value:
    if receiver.is_open:
        may_raise(m)
        m.store.change(receiver, {}, True)
        return UNKNOWN
    if not receiver.slots:
        raise Raised("KeyError")
    key = list(receiver.slots)[-1]
    value = receiver.slots[key].value
    remove_entry(m, receiver, Known(key))
    return Items("tuple", {0: Known(key, node), 1: value}, node)


def _entry_method(m: Walker, receiver: Mapping, name: str, first: Value, rest: Sequence[Argument], node: ast.Call) -> Value:
    """Return what `get`, `pop` and `setdefault` give, and do to the dict what they do."""
    if not isinstance(first, Known) or first.value.__hash__ is None or (first.weak and name != "get"):
        may_raise(m)
        if name == "pop":
            m.store.change(receiver, {}, True)
        elif name == "setdefault":
            forget_entries(m, receiver)
        return UNKNOWN
    entry: DictEntry | None = receiver.slots.get(first.value)
    default = rest[0].value if rest else Known(None, node)
    if first.weak:  # only for `get`: another key may be meant
        return weakened(entry.value if entry is not None and entry.is_sure else default if entry is None else UNKNOWN)
    if entry is not None and entry.is_sure:
        if name == "pop":
            remove_entry(m, receiver, first)
        return entry.value
    if name == "pop" and not rest:
        if entry is None and not receiver.is_open:
            raise Raised("KeyError")
        may_raise(m)
    is_sure = entry is None and not receiver.is_open
    if name == "setdefault":
        made = settled(default) if is_sure else join(entry.value, default) if entry is not None else UNKNOWN
        if made is UNKNOWN and isinstance(default, Known):
            made = weakened(default)
        m.write_entry(receiver, first.value, DictEntry(made, rest[0].node if rest else None))
        return made
    if name == "pop" and entry is not None:
        m.store.change(receiver, {key: one for key, one in receiver.slots.items() if key != first.value}, True)
    return default if is_sure else join(entry.value, default) if entry is not None else UNKNOWN


def _update(m: Walker, receiver: Mapping, other: Value) -> None:
    """Carry out `receiver.update(other)`."""
    pairs = other.slots if isinstance(other, Mapping) else pairs_of(other)
    if pairs is None:
        may_raise(m)
    for key, entry in list((pairs or {}).items()):
        before = receiver.slots.get(key)
        if isinstance(entry, DictEntry) and not entry.is_sure:
            entry = entry if before is None else DictEntry(join(before.value, entry.value), entry.node, before.is_sure)
        m.write_entry(receiver, key, entry)
    if isinstance(other, Mapping) or pairs is None:
        _forget(m, receiver, other)


def _forget(m: Walker, receiver: Mapping, other: Value) -> None:
    """After an update with something not fully known, no entry that it may have replaced is known."""
    if isinstance(other, Mapping) and not other.is_open:
        return
    written = other.slots if isinstance(other, Mapping) else {}
    for key, entry in list(receiver.slots.items()):
        if key not in written:
            m.write_entry(receiver, key, DictEntry(weakened(entry.value), entry.node, entry.is_sure))
    m.store.change(receiver, dict(receiver.slots), True)


def pairs_of(value: Value) -> dict[object, DictEntry] | None:
    """Return the entries that pairs of known keys and values make; None for anything else."""
    rows = lists.iterated(value) if isinstance(value, Items) else None
    found: dict[object, DictEntry] = {}
    for row in rows or ():
        key = row.slots.get(0) if isinstance(row, Items) and not row.open and len(row.slots) == 2 else None
        if not isinstance(row, Items) or not is_sure_key(key):
            return None
        found[key.value] = DictEntry(row.slots[1])
    return found if rows is not None else None


def forget_entries(m: Walker, mapping: Mapping, each: Value | None = None) -> None:
    """An entry of a dict was written under a key that is not known: each may be another, and there may be more, all like `each`."""
    unknown = {key: DictEntry(UNKNOWN, entry.node, entry.is_sure) for key, entry in mapping.slots.items()}
    m.store.change(mapping, unknown, True, each)
    if mapping.owner is not None:
        mapping.owner.fallback = mapping.owner.fallback or MAYBE.reason


def remove_entry(m: Walker, mapping: Mapping, key: Value) -> None:
    """Carry out `del mapping[key]`."""
    if not is_sure_key(key):
        may_raise(m)
        m.store.change(mapping, {}, True)
        return
    if key.value not in mapping.slots and not mapping.is_open:
        raise Raised("KeyError")
    if mapping.is_open or not mapping.slots[key.value].is_sure:
        may_raise(m)
    m.store.change(mapping, {name: entry for name, entry in mapping.slots.items() if name != key.value}, mapping.is_open)
    if mapping.owner is not None:
        m.store.delete(mapping.owner.slots, key.value)
