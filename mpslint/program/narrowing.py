"""What a name is where a test of it is true, and where it is false: of the values that it may have, those for which that is so."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from mpslint.facts.joined import join_all
from mpslint.facts.values import UNKNOWN, Instance, Known, OneOf, Value, is_weak
from mpslint.program.exits import Raised, cut, marks
from mpslint.program.machine import Walker
from mpslint.program.walk import walk
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.traits import PLACE, typed


def narrowing(m: Walker, test: ast.expr) -> Callable[[bool], AbstractContextManager[None]]:
    """Return what makes the one name of an undecided test that may have several values, while a branch is walked, what it is there.

    Behind the branch it is what it was, unless the branch gave it another value.
    """
    found = []
    for name in {one.id for one in walk(test) if isinstance(one, ast.Name)}:
        slots = m.home_of(name).slots
        if len(values := _alternatives(slots.get(name))) > 1:
            found.append((slots, name, values))
    if len(found) != 1:
        return lambda _: contextlib.nullcontext()
    (slots, name, values) = found[0]
    before = slots[name]
    answers = [_answer(m, slots, name, one, test) for one in values]
    if "another" in answers:
        return lambda _: contextlib.nullcontext()

    @contextlib.contextmanager
    def narrowed(taken: bool) -> Iterator[None]:
        left = [one for one, answer in zip(values, answers, strict=True) if answer is not (not taken)]
        is_fewer = 0 < len(left) < len(values)
        there = join_all(left) if is_fewer else before
        if is_fewer:
            m.store.write(slots, name, there)
        yield
        if is_fewer and slots.get(name) is there:
            m.store.write(slots, name, before)

    return narrowed


def _alternatives(value: Value | None) -> Sequence[Value]:
    """Return what a value may be: what lies somewhere and isn't known to be a tensor is one, or anything else."""
    if isinstance(value, OneOf):
        return value.values
    if isinstance(value, Instance) and not value.kind and value.cls is None and PLACE in value.slots:
        return typed(Instance(value.name), load_kinds().tensor, place=value.slots[PLACE]), UNKNOWN
    return ()


def _answer(m: Walker, slots: dict[str, Value], name: str, value: Value, test: ast.expr) -> bool | str | None:
    """Return how a test comes out where a name has a value, or that it gives it another; None where that isn't known."""
    before, start = marks(m), m.steps
    try:
        with m.silently(), m.store.path():
            m.store.write(slots, name, value)
            version = m.store.version
            answer = m.value(test)
            if slots.get(name) is not value:
                return "another"
            is_same = m.store.version == version
        is_told = is_same and isinstance(answer, Known) and not is_weak(answer) and not m.is_dead
        return m.truth(answer) if is_told else None
    except Raised:
        return None
    finally:
        m.is_dead = False
        m.silent_steps += m.steps - start
        cut(m, before)
