"""What going through a value gives: a batch, a loader, a list or a dict of tensors."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import TypeGuard

from mpslint.facts.joined import join_all
from mpslint.facts.values import (
    IN_EACH_ROUND,
    UNKNOWN,
    DictEntry,
    Instance,
    Items,
    Mapping,
    OneOf,
    Value,
    alternatives_of,
    count_made,
    is_trait,
)
from mpslint.tensors.dimensions import row_of
from mpslint.tensors.kinds import fits, load_kinds
from mpslint.tensors.signatures import load_signatures
from mpslint.tensors.traits import EACH, KEY, WHOLE, has_traits, held_in, is_array, is_module, is_tensor, like, part_of, trait


def alike(values: Sequence[Value]) -> Value:
    """Return one value for several tensors, arrays, or tuples, dicts or graphs of them that are made alike; Unknown for anything else."""
    first = values[0] if values else UNKNOWN
    if isinstance(first, Items) and all(isinstance(one, Items) and not one.open and len(one.slots) == len(first.slots) for one in values):
        parts = {number: alike([one.slots[number] for one in values if isinstance(one, Items)]) for number in first.slots}
        return Items(first.kind, parts, born=IN_EACH_ROUND) if any(one is not UNKNOWN for one in parts.values()) else UNKNOWN
    if isinstance(first, Mapping) and all(isinstance(one, Mapping) and one.slots.keys() == first.slots.keys() for one in values):
        rows = {key: [one.slots[key] for one in values if isinstance(one, Mapping) and not one.is_open] for key in first.slots}
        if all(len(row) == len(values) and all(isinstance(one, DictEntry) for one in row) for row in rows.values()):
            entries = {key: DictEntry(alike([one.value for one in row]), row[0].node) for key, row in rows.items()}
            return Mapping(entries, born=IN_EACH_ROUND) if any(one.value is not UNKNOWN for one in entries.values()) else UNKNOWN
        return UNKNOWN
    wholes = [one for one in values if is_whole(one) and one.name == first.name] if isinstance(first, Instance) else []
    if wholes and len(wholes) == len(values):
        held: dict[object, list[Value]] = {}
        for key, one in [pair for whole in wholes for pair in whole.slots.items()]:
            if is_trait(key) or has_traits(one):
                held.setdefault(key, []).append(one)
        return Instance(wholes[0].name, wholes[0].call, {key: join_all(parts) for key, parts in held.items()})
    joined = join_all(list(values)) if values else UNKNOWN
    return like(joined) if is_tensor(joined) or is_array(joined) else UNKNOWN


def each_of(value: Value) -> Value | None:
    """Return what going through a value gives; None where the domain doesn't know."""
    found = []
    for one in alternatives_of(value):
        if trait(one, EACH) is not UNKNOWN:
            found.append(trait(one, EACH))
        elif is_tensor(one) or is_array(one):
            found.append(row_of(one))
        elif (inner := contained(one)) is not None:
            found.append(inner)
        elif isinstance(one, Items) and any(map(has_traits, one.values())) and not one.open:
            found += one.values()
        elif isinstance(one, Items) and one.open and one.each is not None and has_traits(one.each):
            found += [*one.values(), one.each]
        else:
            return None
    return join_all(found)


def any_of(items: Items) -> Value:
    """Return what one of the items of a list is, whichever is meant: tensors, arrays, or dicts and tuples that hold some; else Unknown."""
    values = [*items.values(), *([items.each or UNKNOWN] if items.open else [])]
    if all(is_tensor(one) or is_array(one) for one in values):
        return join_all(values)
    return (values[0] if len(values) == 1 else OneOf(tuple(values))) if alike(values) is not UNKNOWN else UNKNOWN


def anew(value: Value) -> Value:
    """Return what goes through a loader as one round of a loop gets it: with lists and dicts of its own, which the next one doesn't see."""
    return copied_as(value, None)


def as_yielded(value: Value) -> Value:
    """Return what a generator yields, as it is now: it may change it later."""
    return copied_as(value, IN_EACH_ROUND) if isinstance(value, Mapping) else value


def copied_as(value: Value, born: int | None) -> Value:
    """Return a value with other lists and dicts in the place of those that are made in each round, or where that is `born`, of all."""
    if isinstance(value, OneOf):
        parts = tuple(copied_as(one, born) for one in value.values)
        return OneOf(parts) if any(one is not old for one, old in zip(parts, value.values, strict=True)) else value
    if not isinstance(value, (Items, Mapping)) or (isinstance(value, Mapping) and value.owner is not None):
        return value
    made = changed_within(value, lambda one: copied_as(one, born), born)
    is_same = all(map(operator.is_, held_in(made) or (), held_in(value) or ()))
    return value if born is None and value.born != IN_EACH_ROUND and is_same else made


def changed_within(value: Items | Mapping, change: Callable[[Value], Value], born: int | None = None) -> Items | Mapping:
    """Return another list or dict with what a change makes of each part of one; it's made now, or as if it were `born` then."""
    born, each = count_made() if born is None else born, change(value.each) if value.each is not None else None
    if isinstance(value, Items):
        return Items(value.kind, {key: change(one) for key, one in value.slots.items()}, value.origin, value.open, each, born=born)
    held = {key: DictEntry(change(one.value), one.node, one.is_sure) for key, one in value.slots.items() if isinstance(one, DictEntry)}
    return Mapping(held, value.origin, value.is_open, each=each, born=born)


def depth_of(value: Value, most: int = 4) -> int:
    """Return how many lists and dicts lie within one another in a value, as far as it is known; deeper ones don't count."""
    if isinstance(value, OneOf):
        return max(depth_of(one, most) for one in value.values)
    if not isinstance(value, (Items, Mapping)) or not most:
        return 0
    held = [one.value if isinstance(one, DictEntry) else one for one in value.slots.values()]
    return 1 + max((depth_of(one, most - 1) for one in (*held, *([value.each] if value.each is not None else []))), default=0)


def contained(value: Value) -> Value | None:
    """Return what a container of modules holds, one of them standing for all; None for another value."""
    content = content_of(value)
    if isinstance(content, Mapping):
        return value_of(content)
    return join_all([*content.values(), *([content.each] if content.each is not None else [])]) if isinstance(content, Items) else None


def content_of(value: Value) -> Value | None:
    """Return the list or dict of a container of modules; None for another value."""
    if not isinstance(value, Instance) or not is_module(value):
        return None
    own = load_signatures().get(value.name)
    return value.slots.get(own.registered[0]) if own is not None and own.registered and not own.called_with else None


def held_at(value: Value, key: object) -> Value | None:
    """Return the module that a container of modules holds under a number or name; None where that isn't known."""
    content = content_of(value)
    if isinstance(content, Mapping):
        entry = content.slots.get(key)
        return entry.value if isinstance(entry, DictEntry) else None
    if isinstance(content, Items) and isinstance(key, int):
        return content.slots.get(key % len(content.slots) if content.slots and not content.open else key, content.each)
    return None


def of_iterable(receiver: Instance, method: str, result: Instance) -> Value | None:
    """Return what a method gives that goes through a loader or data set."""
    if method == "items":  # of a batch that is like a dict
        result.slots[EACH] = Items("tuple", {0: KEY, 1: trait(receiver, EACH)})
        return result
    if method in ("__iter__", "values", "keys"):
        result.slots[EACH] = KEY if method == "keys" else trait(receiver, EACH)
        return result
    return anew(trait(receiver, EACH)) if method in ("__next__", "get", "pop") else None


def is_batch(value: Value) -> bool:
    """Return whether something goes through the parts of a batch, of which there is one at least."""
    whole = [value, *([value.owner] if value.owner is not None else [])] if isinstance(value, Instance) and EACH in value.slots else []
    return any(map(is_tensor, whole))


def of_builtin(name: str, values: list[Value], result: Instance) -> None:
    """Give `enumerate(x)`, `zip(x, y)` and `iter(x)` what going through them gives."""
    each = [each_of(value) or (part_of(value, "[]") if isinstance(value, Instance) else Instance("[]")) for value in values]
    if name == "enumerate" and each:
        result.slots[EACH] = Items("tuple", {0: WHOLE, 1: each[0]})
    elif name == "zip":
        result.slots[EACH] = Items("tuple", dict(enumerate(each)))
    elif name in ("iter", "reversed", "sorted") and each and each_of(values[0]) is not None:
        result.slots[EACH] = each[0]


def value_of(entries: Mapping) -> Value:
    """Return what the tensors that a dict holds have in common; Unknown where it may hold something else."""
    values = [one.value for one in entries.slots.values() if isinstance(one, DictEntry)]
    values += [entries.each] if entries.each is not None else []
    is_all = bool(values) and all(map(has_traits, values)) and (entries.each is not None or not entries.is_open)
    return join_all(values) if is_all else UNKNOWN


def entry_of(entries: Mapping, method: str, node: ast.AST) -> Value:
    """Return what going through `items()` or `values()` of a dict gives."""
    value = value_of(entries)
    return value if method == "values" else Items("tuple", {0: UNKNOWN, 1: value}, node)


def split(value: Value, number: int) -> Value | None:
    """Return the part of a number of a group of tensors, or of a tensor, that is unpacked; None for another value."""
    if not isinstance(value, Instance):
        return None
    part = value.slots.get(("item", number)) or value.slots.get(EACH)
    return row_of(value) if part is None and (is_tensor(value) or is_array(value)) else part


def is_whole(value: Value) -> TypeGuard[Instance]:
    """Return whether a value is an object of a library that takes all tensors along that it was given, such as a graph."""
    return isinstance(value, Instance) and not value.kind and fits(value.name, load_kinds().moved_whole)


def with_tensors(value: Instance, change: Callable[[Value], Value]) -> Instance:
    """Return another such object, with what a change makes of each of its tensors."""
    slots = {key: change(one) if is_tensor(one) else one for key, one in value.slots.items()}
    return Instance(value.name, value.call, slots, owner=value.owner)
