"""Objects that hold settings as attributes or entries: made of keywords, of a dict, or by a class of the program that is a dict."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.facts.values import Argument, DictEntry, Instance, Items, Known, Mapping, Value, method_of, weakened
from mpslint.program.arguments import CallArguments
from mpslint.program.config_files import path_of
from mpslint.program.machine import Walker

OTHER = "another file"
"""Why an entry is not known."""
DICTS = frozenset({"builtins.dict", "collections.OrderedDict", "collections.UserDict"})
CONSTRUCTORS = frozenset({"__init__", "update"})


def made(m: Walker, name: str, arguments: CallArguments) -> Value:
    """Return an object whose attributes are its keywords, or the entries of the dict it is given."""
    bag = Instance(name)
    _take(m, bag, arguments)
    return bag


def _take(m: Walker, bag: Instance, arguments: CallArguments) -> None:
    """Write what the arguments of a call say into a bag; what is not known may be anything from then on."""
    given = [argument.value for argument in arguments.positional]
    initial = arguments.keywords.get("initial_dictionary")
    for value in (*given[:1], *([initial.value] if initial is not None else [])):
        entries = dict(entries_of(value))
        for key, one in entries.items():
            m.store.write(bag.slots, key, _nested(m, bag, one))
        if not isinstance(value, Mapping) or value.is_open:
            _forget(m, bag, entries)
    named = {key: argument.value for key, argument in arguments.keywords.items() if key != "initial_dictionary"}
    for key, value in named.items():
        m.store.write(bag.slots, key, _nested(m, bag, value))
    if arguments.is_open:
        _forget(m, bag, named)


def _nested(m: Walker, bag: Instance, value: Value) -> Value:
    """Return a value as a bag holds it: a dict in an object of outside is such an object too."""
    if not isinstance(value, Mapping) or bag.cls is not None or bag.name in DICTS | m.platform.flat_bags:
        return value
    inner = Instance(bag.name, fallback=OTHER if value.is_open else "")
    inner.slots.update({key: _nested(m, bag, one) for key, one in entries_of(value)})
    return inner


def entries_of(value: Value) -> Iterator[tuple[str, Value]]:
    """Yield the keys of a dict, or of an object that holds settings, with their values."""
    if isinstance(value, Mapping):
        yield from ((str(key), entry.value) for key, entry in value.slots.items() if isinstance(entry, DictEntry))
    elif isinstance(value, Instance):
        yield from ((key, one) for key, one in value.written_slots().items() if isinstance(key, str))


def _forget(m: Walker, bag: Instance, kept: dict[str, Value]) -> None:
    """From here on every entry but those that were just given may be another."""
    for key, value in list(bag.slots.items()):
        if isinstance(key, str) and key not in kept:
            m.store.write(bag.slots, key, weakened(value))
    bag.fallback = OTHER


def is_dict(m: Walker, owner: Instance) -> bool:
    """Return whether an object is of a class that holds entries: a dict, or an object of attributes."""
    known = m.platform.bags | DICTS
    return owner.name in known or (owner.cls is not None and not known.isdisjoint(owner.cls.outside_bases()))


def call_method(m: Walker, owner: Instance, method: str, arguments: CallArguments, node: ast.Call | None) -> Value | None:
    """Return what a method of an object of settings gives; None where that is not known, or for another object."""
    if method in CONSTRUCTORS and is_dict(m, owner):
        if owner.cls is not None and "collections.UserDict" in owner.cls.outside_bases() and owner.cls.lookup("__setitem__") is not None:
            arguments = CallArguments((), {}, True)  # each entry goes through it
        _take(m, owner, arguments)
        return Known(None, node)
    if owner.name not in m.platform.bags:
        return None
    if method in ("get", "pop"):
        return _entry(owner, arguments, node)
    if method in m.platform.bag_copies:
        return _copied(owner)
    if method not in m.platform.bag_mergers:
        return None
    first = arguments.first()
    path = path_of(m, first, node) if first is not None and node is not None else None
    found = m.project.load_config(m, str(path.value), path.weak) if path is not None and m.project is not None else None
    merged = found if found is not None else first if isinstance(first, Instance) else None
    _merge(m, owner, merged) if merged is not None else _forget_all(m, owner)
    return Known(None, node)


def _merge(m: Walker, owner: Instance, other: Value) -> None:
    """Write the entries of a configuration over those of an object, and so within its parts."""
    for key, value in entries_of(other):
        inner = owner.slots.get(key)
        if isinstance(inner, Instance) and isinstance(value, (Mapping, Instance)):
            _merge(m, inner, value)
        else:
            m.store.write(owner.slots, key, _nested(m, owner, value))


def _forget_all(m: Walker, owner: Instance) -> None:
    for key, value in list(owner.slots.items()):
        if isinstance(value, Instance) and value.name == owner.name:
            _forget_all(m, value)
        else:
            m.store.write(owner.slots, key, weakened(value))


def _copied(owner: Instance) -> Instance:
    copy = Instance(owner.name, fallback=owner.fallback)
    for key, value in owner.slots.items():
        copy.slots[key] = _copied(value) if isinstance(value, Instance) and value.name == owner.name else value
    return copy


def _entry(bag: Instance, arguments: CallArguments, node: ast.Call | None) -> Value | None:
    """Return what `bag.get(key, default)` gives; None where that is not known."""
    key = arguments.first()
    if not (isinstance(key, Known) and isinstance(key.value, str)):
        return None
    if key.value in bag.slots:
        return bag.slots[key.value]
    if bag.fallback:
        return None
    return arguments.positional[1].value if len(arguments.positional) > 1 else Known(None, node)


def kept_parameters(m: Walker, arguments: CallArguments) -> Value:
    """Return what a method keeps of the parameters of the function that calls it: all, those that it names, or those of an object."""
    first = arguments.first() if arguments.positional else None
    if isinstance(first, Instance):
        return first
    if isinstance(first, Mapping):
        return made(m, "", CallArguments((Argument(first, None),), {}, False))
    named = {one.value.value for one in arguments.positional if isinstance(one.value, Known)}
    given = {name: Argument(value, None) for name, value in m.frame.slots.items() if name != "self" and (not named or name in named)}
    return made(m, "", CallArguments((), given, True))


def from_getter(m: Walker, owner: Instance, getter: str, name: str) -> Value | None:
    """Return what a class's own `__getattr__` or `__getitem__` gives for a name; None where it has none, or that is not known."""
    if (method := method_of(owner, getter)) is None:
        return None
    found = m.calls.call_function(m, method, [owner, Known(name)], {}, False, None)
    return found if isinstance(found, (Known, Mapping, Instance, Items)) else None
