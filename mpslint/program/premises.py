"""What the parameters of functions that nothing calls are taken for: the tool's premise is that code is run on the Mac's GPU."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.facts.values import Class, Function, Instance, Known, Symbol, Value
from mpslint.program.machine import Walker
from mpslint.tensors.kinds import load_kinds


def premises_of(machine: Walker, function: Function) -> dict[str, Value]:
    """Return what parameters are taken for that nothing in the file gives a value: a device is the Mac's GPU."""
    if not machine.has_premises:
        return {}
    given = function.node.args
    named = [*given.posonlyargs, *given.args]
    parameters = [*named[: len(named) - len(function.defaults)], *given.kwonlyargs]
    found = {one.arg: said for one in parameters if (said := _said_of(machine, one)) is not None}
    if found:  # who calls it on a Mac selects another device than one that a Mac lacks
        defaults = zip(named[len(named) - len(function.defaults) :], function.defaults, strict=True)
        absent = [one for one, value in defaults if isinstance(value, Known) and machine.platform.is_absent_device(value.value)]
        found |= {one.arg: said for one in absent if isinstance(said := _said_of(machine, one), str)}
    machine.facts.premised[function.node] = tuple(name for name, said in found.items() if isinstance(said, str))
    return {name: _premise(said, machine) for name, said in found.items()}


def _said_of(machine: Walker, parameter: ast.arg) -> Any:
    """Return what the premises say of a parameter: by its annotation, else by its name, unless its annotation says what it can't be."""
    premises, annotation = machine.platform.premises, parameter.annotation
    by_name = premises["names"].get(parameter.arg)
    if not isinstance(annotation, (ast.Name, ast.Attribute)):
        return by_name
    with machine.silently():
        kind = machine.value(annotation)
    name = kind.name if isinstance(kind, Symbol) else ""
    if name in premises["types"]:
        return premises["types"][name]
    return None if name in premises["no_device" if isinstance(by_name, str) else "no_object"] else by_name


def _premise(said: str | Mapping[str, str], machine: Walker) -> Value:
    """Return what a parameter is taken for: the device of the program or of the premises, or an object of a class of outside."""
    if isinstance(said, str):
        return machine.own_device or Known(said, None, True, load_kinds().device_class)
    return Instance(said["is"], kind=load_kinds().module if said["is"] in load_kinds().module_bases else "")


def device_of(machine: Walker) -> Value | None:
    """Return the device that a walked program chooses for itself on a Mac; None where it chooses none, several, or one that a Mac lacks.

    A function that nothing calls would be given that device: a notebook's `device`, `CFG.device`, or that of a called `main()`.
    """
    chosen: dict[Any, Value] = {}
    for name, value in _named_devices(machine):
        if isinstance(machine.platform.premises["names"].get(str(name).lower()), str):
            is_text = isinstance(value, Known) and isinstance(value.value, str)
            chosen.setdefault(value.value.split(":")[0] if is_text and isinstance(value, Known) else None, value)
    is_absent = any(machine.platform.is_absent_device(device) for device in chosen)
    return next(iter(chosen.values())) if len(chosen) == 1 and None not in chosen and not is_absent else None


def _named_devices(machine: Walker) -> Iterator[tuple[Any, Value]]:
    """Yield what the names of the module and of its configuration objects are, and the devices that called functions made."""
    for name, value in machine.module.slots.items():
        yield name, value
        if isinstance(value, (Class, Instance)):
            yield from ((inner, one) for inner, one in value.slots.items() if isinstance(one, Known))
    for frame in machine.facts.frames:
        yield from ((name, one) for name, one in frame.slots.items() if isinstance(one, Known) and one.source in machine.platform.devices)
