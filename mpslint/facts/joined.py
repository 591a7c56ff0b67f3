"""What is known of a value that is one of several."""

from __future__ import annotations

from typing import TypeGuard

from mpslint.facts.values import (
    LENGTHS,
    MOST_ALTERNATIVES,
    RAISED,
    UNKNOWN,
    AutogradGraph,
    Bound,
    Class,
    Function,
    Instance,
    Items,
    Known,
    Mapping,
    Module,
    OneOf,
    Symbol,
    Unknown,
    Value,
    alternatives_of,
    is_trait,
    is_weak,
)

_UNCHANGED = ("tuple", "iterator")
"""Kinds of lists whose parts nothing replaces, so that one may stand for many."""


def same(a: Value, b: Value) -> bool:
    """Return whether two values are known to be equal."""
    if a is b:
        return True
    if isinstance(a, Known) and isinstance(b, Known):
        if type(a.value) is not type(b.value) or a.value != b.value:
            return False
        return bool(a.value) or isinstance(a.value, AutogradGraph) or str(a.value) == str(b.value)  # -0.0
    if isinstance(a, Symbol) and isinstance(b, Symbol):
        return a.name == b.name
    if isinstance(a, Items) and isinstance(b, Items) and a.kind == b.kind == "tuple" and not (a.open or b.open):
        return len(a.slots) == len(b.slots) and all(map(same, a.values(), b.values()))
    return False


def with_attribute(value: Value, name: str) -> Value:
    """Return what a value is where it is asked for an attribute: what is a constant without it raises there (a sum that begins with 0).

    What is but a default isn't used there.
    """
    whole = alternatives_of(value)
    left = [one for one in whole if not (isinstance(one, Known) and not one.source and not hasattr(one.value, name))]
    return value if len(left) == len(whole) else join_all(left) if left else UNKNOWN if is_weak(value) else value


def as_changed(value: Value) -> Value:
    """Return what a value is where it is changed: no constant can be, so that what is but a default is something else there."""
    return UNKNOWN if isinstance(value, Known) and value.weak else value


def join(a: Value, b: Value) -> Value:
    """Return what is known when a value is either `a` or `b`."""
    if same(a, b):
        return _decided_by_both(a, b) if isinstance(a, Known) and isinstance(b, Known) else a
    if (graph := _graph_of(a, b)) is not None:
        return graph
    if a is RAISED or b is RAISED:
        return b if a is RAISED else a
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Known) and one.value == 0 and isinstance(other, Instance) and LENGTHS in other.slots:
            return other  # a maximum that begins with 0 is one, too
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        unknown = a if isinstance(a, Unknown) else b
        is_told = isinstance(unknown, Unknown) and (unknown.answer is not None or unknown.text is not None)
        return Unknown(unknown.reason) if isinstance(unknown, Unknown) and is_told else unknown
    alternatives: list[Value] = []
    for value in (*alternatives_of(a), *alternatives_of(b)):
        if any(same(value, other) for other in alternatives):
            continue
        at = next((n for n, other in enumerate(alternatives) if _graph_of(other, value) is not None), len(alternatives))
        alternatives[at:] = [join(alternatives[at], value), *alternatives[at + 1 :]] if at < len(alternatives) else [value]
    return OneOf(tuple(alternatives)) if len(alternatives) <= MOST_ALTERNATIVES else _common(alternatives)


def _decided_by_both(a: Known, b: Known) -> Known:
    """Return one of two equal values, with the expressions that decided either."""
    kept, other = (b, a) if b.weak else (a, b)
    known = (kept.origin, *kept.others)
    new = tuple(one for one in (other.origin, *other.others) if one is not None and one not in known)
    return Known(kept.value, kept.origin, kept.weak, kept.source, (*kept.others, *new)) if new else kept


def _common(values: list[Value], is_part: bool = False) -> Value:
    """Return what many values have in common: their class and traits if they are tensors or were moved, else nothing.

    Their elements are joined too, but not the elements of these: that work would multiply with each level.
    """
    first = values[0]
    rows = [one.slots for one in values if isinstance(one, Items) and isinstance(first, Items) and one.kind == first.kind and not one.open]
    if isinstance(first, Items) and first.kind in _UNCHANGED and len(rows) == len(values) and {len(one) for one in rows} == {len(rows[0])}:
        sources = tuple(source for one in values if isinstance(one, Items) for source in one.sources)
        return Items(first.kind, {number: join_all([one[number] for one in rows]) for number in first.slots}, first.origin, sources=sources)
    slots = [value.slots for value in values if isinstance(value, Instance) and value.cls is None]
    kinds = {value.kind for value in values if isinstance(value, Instance)} - {""}
    keys = [key for key in slots[0] if is_trait(key) and all(key in one for one in slots)] if len(slots) == len(values) else []
    if not keys or len(kinds) > 1:
        return UNKNOWN
    found: dict[object, Value] = {}
    for key in keys:
        parts = [one[key] for one in slots]
        if not all(isinstance(one, Instance) for one in parts):
            found[key] = join_all(parts)
        elif not is_part:
            found[key] = _common(parts, is_part=True)
    return Instance("", slots=found, kind="".join(kinds))


def _graph_of(a: Value, b: Value) -> Known | None:
    """Return the graph of what is computed in the passes of two, where both are there or both are not; None for anything else."""
    if not (isinstance(a, Known) and isinstance(b, Known)):
        return None
    values = (a.value, b.value)
    graphs = [AutogradGraph(one) if isinstance(one, bool) else one for one in values if isinstance(one, (bool, AutogradGraph))]
    if len(graphs) < 2 or all(isinstance(one, bool) for one in values) or graphs[0].is_there != graphs[1].is_there:
        return None
    return Known(AutogradGraph(graphs[0].is_there, graphs[0].passes | graphs[1].passes), a.origin, a.weak or b.weak)


def join_all(values: list[Value]) -> Value:
    """Return what is known when a value is one of several; of none, Unknown."""
    if not values:
        return UNKNOWN
    result = values[0]
    for value in values[1:]:
        result = join(result, value)
    return result


def is_sure_key(key: Value | None) -> TypeGuard[Known]:
    """Return whether a value certainly names one entry of a dict: a constant that can be a key, and no default that may be another."""
    return isinstance(key, Known) and key.value.__hash__ is not None and not key.weak


def truth(value: Value) -> bool | None:
    """Return whether a value counts as true, or None when that is not known."""
    if isinstance(value, Known):
        return bool(value.value)
    if isinstance(value, Unknown):
        return value.answer
    if isinstance(value, OneOf):
        answers = {truth(alternative) for alternative in value.values}
        return answers.pop() if len(answers) == 1 else None
    if isinstance(value, Items):
        return True if value.slots else None if value.open or value.kind == "iterator" else False  # one is true, but no view of a dict is
    if isinstance(value, Mapping):
        return True if any(getattr(entry, "is_sure", True) for entry in value.slots.values()) else None if value.is_open else False
    if isinstance(value, (Function, Class, Bound, Module)):
        return True
    return None
