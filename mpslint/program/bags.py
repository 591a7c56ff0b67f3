"""Objects that hold settings as attributes or entries: made of keywords, of a dict, or by a class of the program that is a dict."""

from __future__ import annotations

from collections.abc import Iterator

from mpslint.facts.values import Class, DictEntry, Instance, Items, Known, Mapping, Value, method_of
from mpslint.program.arguments import CallArguments
from mpslint.program.machine import Walker

OTHER = "another file"
"""Why an entry is not known."""


def entries_of(value: Value) -> Iterator[tuple[str, Value]]:
    """Yield the keys of a dict, of an object that holds settings, or of a class, with their values."""
    if isinstance(value, Mapping):
        yield from ((str(key), entry.value) for key, entry in value.slots.items() if isinstance(entry, DictEntry))
    elif isinstance(value, (Instance, Class)):
        held = value.written_slots() if isinstance(value, Instance) else value.slots
        yield from ((key, one) for key, one in held.items() if isinstance(key, str))


def kept_parameters(m: Walker, arguments: CallArguments) -> Value:
    """Return what a method keeps of the parameters of the function that calls it: all, those that it names, or those of an object."""
    first = arguments.first() if arguments.positional else None
    if isinstance(first, Instance):
        return first
    if isinstance(first, Mapping):
        return Instance("", slots=dict(entries_of(first)), fallback=OTHER if first.is_open else "")
    named = {one.value.value for one in arguments.positional if isinstance(one.value, Known)}
    given = {name: value for name, value in m.frame.slots.items() if name != "self" and (not named or name in named)}
    return Instance("", slots=dict(given), fallback=OTHER)


def from_getter(m: Walker, owner: Instance, getter: str, name: str) -> Value | None:
    """Return what a class's own `__getattr__` or `__getitem__` gives for a name; None where it has none, or that is not known."""
    if (method := method_of(owner, getter)) is None:
        return None
    found = m.calls.call_function(m, method, [owner, Known(name)], {}, False, None)
    return found if isinstance(found, (Known, Mapping, Instance, Items)) else None
