"""Read a program as the Mac would run it: walk it once under the Target, and return the facts."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mpslint.core.versions import Version
from mpslint.facts.facts import Facts
from mpslint.facts.values import Argument, Class, Context, Function, Instance, Known, Symbol, Value
from mpslint.program import implicit, lengths
from mpslint.program.attributes import get_attribute
from mpslint.program.calls import call_value, call_with, instantiate
from mpslint.program.expressions import HANDLERS
from mpslint.program.flow import asks_for_main
from mpslint.program.functions import call_function
from mpslint.program.hooks import forget_unset, makers_for_trainers, steps_for_trainers, walk_method
from mpslint.program.machine import Calls, Loader, Walker
from mpslint.program.outside import call_outside
from mpslint.program.platform import load_platform
from mpslint.program.statements import execute, execute_one
from mpslint.source.document import Document
from mpslint.tensors import libraries
from mpslint.tensors.arguments import CallArguments
from mpslint.tensors.graphs import judge, note_gradients
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.passed_over import note_left

RECURSION_LIMIT = 4000
"""Frames of Python that a walk may take: nested expressions cost a few each, and so do followed calls."""
MOST_ROUNDS = 20
CALLS = Calls(call_function, call_value, call_with, call_outside, instantiate, implicit.called, implicit.BY_SYNTAX)


def evaluate_program(
    document: Document,
    body: Sequence[ast.stmt],
    versions: Mapping[str, Version],
    known_roots: frozenset[str] = frozenset(),
    how_known: Callable[[str], int] = lambda name: 0,
    project: Loader | None = None,
    has_premises: bool = False,
    instead: Mapping[int, object] = MappingProxyType({}),
    stubs: tuple[Path, ...] = (),
) -> Facts:
    """Return what a program does on the Target. Nothing of it is run; never raises on any code.

    `known_roots` are the outside packages that rules know, `how_known` says how well they know a qualified name.
    `project` loads the modules that the program imports of its own project: what neither it nor a Trainer calls is then not walked. With
    `has_premises` functions that nothing calls are taken to be called on the Mac's GPU. `instead` has values for constants, by the id of
    their node. `stubs` are folders of stubs of the user's own.
    """
    machine = Walker(load_platform(), versions, how_known, document.offset, HANDLERS, execute, get_attribute, CALLS, known_roots, document)
    machine.project, machine.has_premises, machine.instead = project, has_premises, instead
    machine.stubs, machine.frame = stubs, machine.module
    machine.facts.frames.append(machine.module)
    machine.facts.body = list(body)
    ends, ended_cell, last_cell, is_over = False, None, None, False
    with _deep_recursion():
        for statement in body:
            decided = len(machine.facts.choices)
            cell = _cell_of(machine, statement)
            # After a cell that raises the next can be run: what the rest of it gives to names is what one puts right before that.
            machine.is_silent = is_over or (ended_cell is not None and cell == ended_cell)
            machine.context = machine.context if cell == last_cell else Context()
            last_cell = cell
            ends = _walk(machine, lambda statement=statement: execute_one(machine, statement))  # type: ignore[misc]
            # An exit that a Mac takes by default: the rest of the file, or of the cell, runs with another option only.
            left = [guard for guard in machine.context.guards if guard.default is not None and guard.taken is not guard.default]
            machine.context = Context(guards=tuple(left))
            # The Mac decides this exit. Below the `sys.exit(main())` of a finished program nothing runs, but its functions are judged.
            ends = ends and not asks_for_main(statement)
            is_over = is_over or (ends and cell is None)
            ends = ends and (cell is not None or decided < len(machine.facts.choices))
            if ends and cell is not None:
                ends, ended_cell = False, cell
            if ends:
                break
        machine.is_silent, machine.context = False, Context()
        machine.own_device = device_of(machine) if has_premises else None
        if project is not None:
            for method in [*makers_for_trainers(machine), *steps_for_trainers(machine)]:
                _walk(machine, lambda method=method: walk_method(machine, *method))  # type: ignore[misc]
        elif not ends:  # a file that ends on the Mac while it is executed can't be imported either: nothing calls its functions
            _walk_all_uncalled(machine)
    for call in list(machine.facts.calls):
        _walk(machine, lambda call=call: lengths.prepare(machine, call))  # type: ignore[misc]
    machine.context = Context()
    judge(machine)
    note_left(machine)
    machine.facts.is_exhausted = machine.facts.is_exhausted or machine.is_exhausted
    machine.facts.steps = machine.steps
    return machine.facts


def _walk_all_uncalled(machine: Walker) -> None:
    """Walk the functions that were not called, and those that come to light meanwhile."""
    for _ in range(MOST_ROUNDS):
        waiting = [one for key, one in machine.functions.items() if key not in machine.analysed]
        if not waiting:
            break
        for function in waiting:
            _walk(machine, lambda function=function: _walk_uncalled(machine, function))  # type: ignore[misc]


def _cell_of(machine: Walker, statement: ast.stmt) -> int | None:
    """Return the number of the cell that a statement stands in, or None outside notebooks."""
    document = machine.document
    cell = document.cell_at(document.offset(statement.lineno, statement.col_offset)) if document.cells else None
    return cell.number if cell is not None else None


def _walk(machine: Walker, step: Callable[[], object]) -> bool:
    """Do one step, and return whether the program ends there; one that nests too deeply costs itself only."""
    frame, context, journals, exits = machine.frame, machine.context, len(machine.store.journals), len(machine.exits)
    try:
        return bool(step())
    except RecursionError:
        machine.facts.is_exhausted = True
        machine.frame, machine.context, machine.is_dead = frame, context, False
        del machine.exits[exits:]
        while len(machine.store.journals) > journals:
            machine.store.undo()
    return False


def _walk_uncalled(machine: Walker, function: Function) -> None:
    """Walk the body of a function that nothing in the file calls, unless by the command line; what it writes is forgotten."""
    if id(function.node) in machine.analysed:
        return
    receiver: list[Instance] = []
    if function.cls is not None:
        receiver = [_object_of(machine, function)]
    if id(function.node) in machine.analysed:
        return
    machine.analysed.add(id(function.node))
    is_command = any(isinstance(d, (Instance, Symbol)) and d.name in machine.platform.commands for d in function.decorators)
    step = libraries.step_of(machine, function, receiver[0]) if receiver else {}
    premises = {} if is_command else {**premises_of(machine, function), **step}
    is_called = is_command or bool(premises)
    machine.context = Context(called=is_called)
    with machine.store.path():
        for one in receiver:
            libraries.place_object(machine, one)
            forget_unset(machine, function, one)
        result = call_function(machine, function, receiver, premises, True, None, is_called=is_called)
        note_gradients(machine, [result])  # what calls it may differentiate what it returns
    machine.context = Context()


def _object_of(machine: Walker, function: Function) -> Instance:
    """Return an object of a method's class: one that the program makes, else one made with nothing known."""
    cls = function.cls
    assert cls is not None
    if id(cls) not in machine.instances:
        machine.context = Context(called=False)
        try:
            maker = cls.lookup("__init__")
            given = premises_of(machine, maker) if isinstance(maker, Function) else {}
            instantiate(machine, cls, CallArguments((), {name: Argument(value, None) for name, value in given.items()}, True), None)
        finally:
            machine.context = Context()
    if id(cls) not in machine.instances:  # calling the class gives something else: a member of an enumeration, what its `__new__` makes
        machine.instances[id(cls)] = machine.made(Instance(cls.node.name, cls=cls))
    return machine.instances[id(cls)]


@contextmanager
def _deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


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
