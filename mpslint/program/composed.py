"""Configurations that a program composes, merges and makes objects of."""

from __future__ import annotations

import ast

from mpslint.facts.values import (
    UNKNOWN,
    Argument,
    Class,
    DictEntry,
    Instance,
    Items,
    Known,
    Mapping,
    Module,
    Symbol,
    Value,
    origin_of,
    weakened,
)
from mpslint.program.arguments import CallArguments
from mpslint.program.config_files import OBJECT, as_object, said_by
from mpslint.program.machine import Walker

TARGET, PARTIAL = "_target_", "_partial_"
FOLDER = ("folder of", "composition")
"""The slot of the module under which lies the folder that a program composes configurations of."""


def call_config(m: Walker, name: str, arguments: CallArguments, node: ast.Call) -> Value | None:
    """Return what a function does that composes, merges or converts configurations, or makes objects of them; None for any other."""
    platform = m.platform
    if name in platform.instantiators:
        first = arguments.first() or (arguments.keywords["config"].value if "config" in arguments.keywords else None)
        return instantiated(m, first, arguments, node) if first is not None else None
    if name in platform.mergers:
        return _merged(arguments)
    if name in platform.word_configs:
        return _of_words(m)
    if name in platform.converters:
        first = arguments.first()
        return _plain(first) if isinstance(first, Instance) and first.name == OBJECT else None
    if name in platform.structurers:
        return _structured(m, arguments, node)
    if name in platform.composition_folders:
        path = arguments.keywords.get("config_path")
        m.store.write(m.module.slots, FOLDER, path.value if path is not None else arguments.first() or UNKNOWN)
        return None
    if name in platform.compositions and m.project is not None:
        folder, config = m.module.slots.get(FOLDER), arguments.get(0, "config_name")
        if not (isinstance(folder, Known) and isinstance(config, Known)):
            return None
        given = arguments.get(1, "overrides")
        if given is not None and not (isinstance(given, Items) and not given.open):
            return None
        written = [Argument(value, origin_of(value)) for value in given.values()] if isinstance(given, Items) else []
        found = m.project.compose_config(m, str(folder.value), str(config.value), written, is_called=True)
        return as_object(found) if isinstance(found, Mapping) else None
    return None


def entries_of(value: Value) -> dict[str, Value] | None:
    """Return the keys of a configuration with their values; None for what is none."""
    if isinstance(value, Mapping):
        return {str(key): entry.value for key, entry in value.slots.items() if isinstance(entry, DictEntry)}
    if isinstance(value, Instance) and not value.fallback and (value.name == OBJECT or value.cls is not None):
        return {key: inner for key, inner in value.slots.items() if isinstance(key, str)}
    return None


def _merged(arguments: CallArguments) -> Value:
    """Return a configuration with all that others say on top of it; where one of them is not known, any value may be another."""
    result: dict[str, Value] = {}
    is_whole = not arguments.is_open
    for argument in arguments.positional:
        entries = entries_of(argument.value)
        is_whole = is_whole and entries is not None
        if entries is None:
            result = {key: _weak(value) for key, value in result.items()}
        result = on_top(result, entries or {})
    return Instance(OBJECT, slots=dict(result), fallback="" if is_whole else "another file")


def on_top(below: dict[str, Value], above: dict[str, Value]) -> dict[str, Value]:
    result = dict(below)
    for key, value in above.items():
        inner, old = entries_of(value), entries_of(result[key]) if key in result else None
        if inner is None:
            result[key] = value
        else:
            result[key] = Instance(OBJECT, slots=dict(on_top(old or {}, inner)))
    return result


def _weak(value: Value) -> Value:
    inner = entries_of(value)
    return weakened(value) if inner is None else Instance(OBJECT, slots={key: _weak(one) for key, one in inner.items()})


def _of_words(m: Walker) -> Value:
    """Return the configuration that the words of the command line make: `train.batch_size=4`."""
    words = m.words()
    root = Instance(OBJECT, fallback="" if words is not None and m.is_told_all() else "command line")
    for word in words or ():
        key, equals, text = str(word.value.value).partition("=") if isinstance(word.value, Known) else ("", "", "")
        if not equals:
            continue
        *above, last = key.lstrip("-").split(".")
        inner = root
        for name in above:
            below = inner.slots.get(name)
            if not isinstance(below, Instance):
                below = inner.slots[name] = Instance(OBJECT)
            inner = below
        said = said_by(text, word.node)
        inner.slots[last] = said if isinstance(said, Known) else UNKNOWN
    return root


def _plain(config: Instance) -> Mapping:
    """Return a configuration as a dict."""
    return Mapping(
        {
            key: DictEntry(_plain(value) if isinstance(value, Instance) and value.name == OBJECT else value, origin_of(value))
            for key, value in config.slots.items()
            if isinstance(key, str)
        },
        is_open=bool(config.fallback),
    )


def _structured(m: Walker, arguments: CallArguments, node: ast.Call) -> Value | None:
    """Return the configuration of a dataclass."""
    first = arguments.first()
    made = m.calls.instantiate(m, first, CallArguments((), {}, False), None) if isinstance(first, Class) else first
    if not (isinstance(made, Instance) and made.cls is not None):
        return None
    named = {name: made.slots.get(name) or made.cls.lookup(name) for name in made.cls.all_fields()}
    return Instance(OBJECT, slots={name: value for name, value in named.items() if value is not None})


def instantiated(m: Walker, config: Value, arguments: CallArguments, node: ast.Call) -> Value | None:
    """Return what a configuration says to call (`_target_`) gives; None where it does not say, or that is not known."""
    entries = entries_of(config)
    target = entries.get(TARGET) if entries is not None else None
    if entries is None or not (isinstance(target, Known) and isinstance(target.value, str)):
        return None
    given: dict[str, Argument] = {}
    for key, value in entries.items():
        if not key.startswith("_"):
            inner = entries_of(value)
            made = instantiated(m, value, CallArguments((), {}, False), node) if inner is not None and TARGET in inner else value
            given[key] = Argument(made if made is not None else UNKNOWN, origin_of(value), unpacked=True)
    given.update({name: one for name, one in arguments.keywords.items() if not name.startswith("_")})
    partial = entries.get(PARTIAL)
    if isinstance(partial, Known) and partial.value is True:
        return Instance("functools.partial")
    return m.calls.call_value(m, named_by(m, target.value), None, CallArguments(arguments.positional[1:], given, arguments.is_open), node)


def named_by(m: Walker, name: str) -> Value:
    """Return what a dotted name means: a class or function of the project, else one of outside."""
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1) if m.project is not None else ():
        module = m.project.load(m, ".".join(parts[:length]), 0) if m.project is not None else None
        if isinstance(module, Module):
            found: Value = module
            for part in parts[length:]:
                found = m.attribute(found, part, None)
            return found
    return Symbol(m.platform.normalise(name))
