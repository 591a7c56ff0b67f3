"""Read a program as the Mac would run it: walk it once under the Target, and return the facts."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from mpslint.program.calls import Arguments, call_function, instantiate
from mpslint.program.expressions import evaluate, get_attribute
from mpslint.program.facts import Context, Facts
from mpslint.program.machine import Machine
from mpslint.program.platform import load_platform
from mpslint.program.statements import execute
from mpslint.program.values import Function, Instance, Known, Symbol, Value, alternatives_of
from mpslint.source.document import Document
from mpslint.versions import Version

RECURSION_LIMIT = 4000
"""Frames of Python that a walk may take: nested expressions cost a few each, and so do followed calls."""
MOST_ROUNDS = 20


def evaluate_program(
    document: Document,
    body: Sequence[ast.stmt],
    versions: Mapping[str, Version],
    known_roots: frozenset[str] = frozenset(),
    how_known: Callable[[str], int] = lambda name: 0,
    matters: Callable[[str], bool] = lambda text: True,
) -> Facts:
    """Return what a program does on the Target. Nothing of it is run; never raises on any code.

    `known_roots` are the outside packages that rules know, `how_known` says how well they know a qualified name. A function that
    nothing in the file calls is walked only where `matters` says so of its text, or of the class that it is in.
    """
    machine = Machine(load_platform(), versions, how_known, document.offset, evaluate, execute, get_attribute, known_roots)
    machine.frame = machine.module
    machine.facts.body = list(body)
    with _deep_recursion():
        for statement in body:
            _walk(machine, lambda statement=statement: execute(machine, [statement]))  # type: ignore[misc]
        passed = _Passed(document, matters, _names_that_matter(machine, matters))
        for _ in range(MOST_ROUNDS):
            waiting = [one for key, one in machine.functions.items() if key not in machine.analysed and not passed.over(one)]
            if not waiting:
                break
            for function in waiting:
                _walk(machine, lambda function=function: _walk_uncalled(machine, function))  # type: ignore[misc]
    machine.facts.is_exhausted = machine.is_exhausted
    return machine.facts


@dataclass(frozen=True)
class _Passed:
    """Which functions that nothing calls are passed over, since no rule can be about a word of them."""

    document: Document
    matters: Callable[[str], bool]
    names: frozenset[str]
    """The module's names that stand for a text that matters (`device = "cuda"`)."""
    answers: dict[int, bool] = field(default_factory=dict)

    def over(self, function: Function) -> bool:
        """Return whether neither the function's text nor that of its class holds a word that matters."""
        node = function.cls.node if function.cls is not None else function.node
        if id(node) not in self.answers:
            start = self.document.line_starts[node.lineno - 1]
            end_line = node.end_lineno or node.lineno
            ends = self.document.line_starts
            text = self.document.text[start : ends[end_line] if end_line < len(ends) else None]
            self.answers[id(node)] = not self.matters(text) and not any(name in text for name in self.names)
        return self.answers[id(node)]


def _names_that_matter(machine: Machine, matters: Callable[[str], bool]) -> frozenset[str]:
    """Return the module's names whose value is, or may be, a text or an outside name that matters."""

    def speaks(value: Value) -> bool:
        text = value.value if isinstance(value, Known) else value.name if isinstance(value, Symbol) else None
        return isinstance(text, str) and matters(text)

    slots = machine.module.slots.items()
    return frozenset(name for name, value in slots if isinstance(name, str) and any(map(speaks, alternatives_of(value))))


def _walk(machine: Machine, step: Callable[[], object]) -> None:
    """Do one step; one that nests too deeply costs itself only."""
    frame, context, journals = machine.frame, machine.context, len(machine.store.journals)
    try:
        step()
    except RecursionError:
        machine.facts.is_exhausted = True
        machine.frame, machine.context = frame, context
        while len(machine.store.journals) > journals:
            machine.store.undo()


def _walk_uncalled(machine: Machine, function: Function) -> None:
    """Walk the body of a function that nothing in the file calls; what it writes is forgotten."""
    if id(function.node) in machine.analysed:
        return
    receiver: list[Instance] = []
    if function.cls is not None:
        receiver = [_object_of(machine, function)]
    if id(function.node) in machine.analysed:
        return
    machine.analysed.add(id(function.node))
    machine.context = Context(called=False)
    machine.store.begin()
    try:
        call_function(machine, function, receiver, {}, True, None, is_called=False)
    finally:
        machine.store.undo()
        machine.context = Context()


def _object_of(machine: Machine, function: Function) -> Instance:
    """Return an object of a method's class: one that the program makes, else one made with nothing known."""
    cls = function.cls
    assert cls is not None
    if id(cls) not in machine.instances:
        machine.context = Context(called=False)
        try:
            instantiate(machine, cls, Arguments((), {}, True), None)
        finally:
            machine.context = Context()
    return machine.instances[id(cls)]


@contextmanager
def _deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
