"""What a copy of a value is."""

from __future__ import annotations

from typing import Any

from mpslint.facts.values import DictEntry, Instance, Items, Mapping, OneOf, Value


def copied(value: Value, is_deep: bool, seen: dict[int, Value] | None = None) -> Value:
    """Return a copy of a value, where it `is_deep` with all that is in it: what happens to one doesn't happen to the other."""
    seen = {} if seen is None else seen

    def inner(one: Any) -> Any:
        if isinstance(one, DictEntry):
            return DictEntry(inner(one.value), one.node, one.is_sure)
        return copied(one, is_deep, seen) if is_deep else one

    if isinstance(value, OneOf):
        return OneOf(tuple(copied(one, is_deep, seen) for one in value.values))
    if id(value) in seen or not isinstance(value, (Instance, Items, Mapping)) or (isinstance(value, Items) and value.kind == "iterator"):
        return seen.get(id(value), value)
    made: Instance | Items | Mapping
    if isinstance(value, Instance):
        made = Instance(value.name, value.call, {}, value.cls, value.owner, value.fallback, value.kind)
    elif isinstance(value, Items):
        made = Items(value.kind, {}, value.origin, value.open, None if is_deep else value.each)
    else:
        made = Mapping({}, value.origin, value.is_open)
    seen[id(value)] = made
    made.slots.update({key: inner(one) for key, one in value.slots.items()})
    return made
