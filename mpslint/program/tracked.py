"""Configurations that an experiment tracker keeps: what a call gives them is read by one name (`wandb.config.lr`)."""

from __future__ import annotations

from mpslint.facts.joined import join_all
from mpslint.facts.values import UNKNOWN, DictEntry, Instance, Items, Mapping, Value
from mpslint.program import bags
from mpslint.program.arguments import CallArguments
from mpslint.program.machine import Walker

SWEPT = ("swept", "keys")
"""The slot of such a configuration that holds the keys which a search decides, whatever the program gives."""


def holder(m: Walker, name: str) -> Instance:
    """Return the configuration that a name stands for everywhere in the program."""
    key = ("tracked", name)
    known = m.module.slots.get(key)
    if not isinstance(known, Instance):
        known = m.made(Instance(name, fallback=bags.OTHER))
        m.module.slots[key] = known
    return known


def note(m: Walker, called: str, arguments: CallArguments, made: Instance) -> None:
    """Write what a call gives to the configuration that its library keeps, which is an attribute of what the call makes."""
    name, parameter = m.platform.tracked_calls[called]
    kept = holder(m, name)
    made.slots[name.rpartition(".")[2]] = kept
    given = arguments.keywords.get(parameter)
    searched = kept.slots.get(SWEPT)
    searched_keys = searched.slots if isinstance(searched, Mapping) else {}
    for key, value in bags.entries_of(given.value) if given is not None else ():
        if key not in searched_keys:
            m.store.write(kept.slots, key, value)


def search(m: Walker, called: str, arguments: CallArguments) -> None:
    """Write what a search gives its runs: a value, or one of several; what it draws is not known."""
    name, parameter = m.platform.searches[called]
    kept, given = holder(m, name), arguments.get(0, parameter)
    parameters = _entry(given, "parameters")
    if not isinstance(parameters, Mapping):
        return
    kept.slots[SWEPT] = Mapping(dict(parameters.slots))
    for key, entry in parameters.slots.items():
        if isinstance(key, str) and isinstance(entry, DictEntry):
            m.store.write(kept.slots, key, _drawn(entry.value))


def _drawn(told: Value) -> Value:
    """Return what a search gives to one of its parameters."""
    value, values = _entry(told, "value"), _entry(told, "values")
    if value is not None:
        return value
    return join_all(values.values()) if isinstance(values, Items) and not values.open else UNKNOWN


def _entry(value: Value | None, key: str) -> Value | None:
    """Return an entry of a dict; None where there is none."""
    entry = value.slots.get(key) if isinstance(value, Mapping) else None
    return entry.value if isinstance(entry, DictEntry) else None
