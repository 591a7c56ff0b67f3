"""Branches and `match`: which paths the Target takes, what names are where a test holds, and what holds whichever is taken."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from mpslint.facts.joined import join_all
from mpslint.facts.values import UNKNOWN, Guard, Instance, Known, OneOf, Value, is_weak
from mpslint.program import choices, implicit
from mpslint.program.exits import Raised, cut, marks
from mpslint.program.machine import Walker
from mpslint.program.places import Writes
from mpslint.program.walk import walk
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.traits import PLACE, typed

ENDS = frozenset("sys.exit os._exit builtins.exit builtins.quit argparse.ArgumentParser.error argparse.ArgumentParser.exit".split())
"""Calls after which nothing runs."""


def if_statement(m: Walker, node: ast.If) -> bool:
    """Walk the branch that the Target takes, or both where that is not known; return whether the path ends here."""
    return _after_test(m, node, tested(m, node.test))


def tested(m: Walker, test: ast.expr) -> Value:
    """Return what a test is, which Python asks for its truth."""
    value = m.value(test)
    implicit.called(m, [value], implicit.TRUTH)
    return value


def _after_test(m: Walker, node: ast.If, test: Value) -> bool:
    """Walk the rest of an `if` whose test was evaluated."""
    answer = m.truth(test)
    if asks_for_main(node):
        with m.within(under_main=True):
            return m.execute_block(m, node.body if answer is not False else node.orelse)
    if answer is None:
        choices.note_perhaps(m, node, test)
        return _undecided(m, node)
    if is_weak(test):
        return _by_default(m, node, answer)
    if (source := choices.source_of(m, test)) and not m.is_silent:
        return choices.walked(m, node, source, answer)
    return m.execute_block(m, node.body if answer else node.orelse)


def ends_program(body: Sequence[ast.stmt]) -> bool:
    """Return whether a block ends in a `raise` or in a call after which nothing runs."""
    last = body[-1] if body else None
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return ast.unparse(last.value.func) in ENDS or ast.unparse(last.value.func) in ("exit", "quit")
    return isinstance(last, ast.Raise)


def asks_for_main(node: ast.stmt) -> bool:
    """Return whether a statement is `if __name__ == ...`."""
    test = node.test if isinstance(node, ast.If) else None
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _undecided(m: Walker, node: ast.If) -> bool:
    """Walk both ways, each as if the other were not there, and keep what holds either way."""
    paths = _branches(m, node)
    (first_leaves, _), *others = paths
    going_on = [writes for leaves, writes in paths if not leaves]
    if not going_on:
        return True
    m.store.merge_nested(going_on)
    if first_leaves or all(leaves for leaves, _ in others):
        guard_rest(m, Guard(node.test, not first_leaves, is_check=ends_program(node.body if first_leaves else node.orelse)))
    elif guard := _one_before_exit(node):
        guard_rest(m, guard)
    return False


def _branches(m: Walker, node: ast.If) -> list[tuple[bool, Writes]]:
    """Walk the branches of a chain of `elif` under undecided tests, and return whether each leaves, and what it wrote.

    They are walked side by side: one inside the other, each would write anew what all those below it wrote. From a test that writes
    something (`elif (n := f()):`) or that is decided, the rest of the chain is one branch.
    """
    paths = []
    before = m.context
    try:
        while True:
            narrowed = narrowing(m, node.test)
            with m.guarded(node.test, True):
                paths.append(_path(m, node.body, narrowed(True)))
            m.context = replace(m.context, guards=(*m.context.guards, Guard(node.test, False)))
            following = node.orelse[0] if len(node.orelse) == 1 else None
            if not isinstance(following, ast.If):
                paths.append(_path(m, node.orelse, narrowed(False)))
                return paths
            m.steps += 1
            with m.store.path() as writes:
                test = tested(m, following.test)
                is_branch = not m.store.journals[-1] and m.truth(test) is None and not asks_for_main(following) and not m.is_dead
                leaves = is_branch or _after_test(m, following, test) or m.is_dead
                m.is_dead = False
            if not is_branch:
                paths.append((leaves, writes))
                return paths
            node = following
    finally:
        m.context = before


def _path(m: Walker, body: Sequence[ast.stmt], within: AbstractContextManager[None]) -> tuple[bool, Writes]:
    """Walk a block as a path of its own, within what holds there; return whether it leaves, and what it wrote, which is undone."""
    with m.store.path() as writes, within:
        leaves = m.execute_block(m, body)
    return leaves, writes


def _one_before_exit(node: ast.If) -> Guard | None:
    """Return what holds after a chain of `elif` that ends in an `else` that leaves: one of its tests is true."""
    tests, orelse = [node.test], node.orelse
    while len(orelse) == 1 and isinstance(orelse[0], ast.If):
        tests.append(orelse[0].test)
        orelse = orelse[0].orelse
    leaves = bool(orelse) and isinstance(orelse[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))
    any_true = ast.copy_location(ast.BoolOp(ast.Or(), tests), tests[0])
    return Guard(any_true, True, is_check=ends_program(orelse)) if leaves and len(tests) > 1 else None


def guard_rest(m: Walker, guard: Guard) -> None:
    """The statements after an `if` that left run under its other answer (`execute` puts the context back at its end)."""
    m.context = replace(m.context, guards=(*m.context.guards, guard))


def _by_default(m: Walker, node: ast.If, answer: bool) -> bool:
    """Walk the path that no option takes for its facts only, then the default one."""
    taken, other = (node.body, node.orelse) if answer else (node.orelse, node.body)
    before = marks(m)
    with m.store.path() as writes, m.guarded(node.test, not answer, answer):
        other_leaves = m.execute_block(m, other)
    cut(m, before)  # where no default leads, nothing is left behind, and nothing is given back
    with m.store.path() as default_writes, m.guarded(node.test, answer, answer):
        leaves = m.execute_block(m, taken)
    if leaves and not other_leaves:
        m.store.redo(writes)
        guard_rest(m, Guard(node.test, not answer, answer))
        return False
    m.store.redo(default_writes)
    guard = _one_before_exit(node) if not answer and not leaves else None
    if (
        guard is not None
        and isinstance(guard.test, ast.BoolOp)
        and any(m.truth(m.looked_at(test)) is None for test in guard.test.values[1:])
    ):
        guard_rest(m, guard)
    return leaves


def match_statement(m: Walker, node: Any) -> bool:
    """Walk the case of a `match` that the Target takes, or every one that it may take, as if the others were not there."""
    subject = m.value(node.subject)
    paths: list[Writes] = []
    for case in node.cases:
        fits = takes(case, subject.value) if isinstance(subject, Known) and not subject.weak else None
        if fits is False:
            continue
        journal = len(m.store.journals)
        with m.store.path() as writes:
            implicit.called(m, [subject], implicit.COMPARING)
            _bind_captured(m, case.pattern, subject)
            answer = m.truth(m.value(case.guard)) if case.guard is not None else True
            tested = m.store.since(journal)
            is_over, m.is_dead = m.is_dead or answer is False, False
            with m.guarded(node.subject, True) if not fits or paths else m.within():
                leaves = is_over or m.execute_block(m, case.body)
        if not leaves:
            paths.append(writes)
        if fits:
            break
        m.store.merge(tested, {})  # a pattern that does not fit may have given some of its names values, and a guard was asked
    else:
        paths.append({})
    if paths:
        m.store.merge(*paths)
    return not paths


def _bind_captured(m: Walker, pattern: Any, subject: Value) -> None:
    """Give the names of a pattern values: what is matched, or something in it."""
    for inner in walk(pattern):
        name = getattr(inner, "name", None) or getattr(inner, "rest", None)
        if isinstance(name, str):
            m.store.lose(subject)
            m.bind(name, subject if inner is pattern and isinstance(inner, ast.MatchAs) else UNKNOWN)


def takes(case: ast.match_case, value: Any) -> bool | None:
    """Return whether a case of a `match` takes a value; None where that isn't certain."""
    if case.guard is not None:
        return None
    patterns: Sequence[Any] = case.pattern.patterns if isinstance(case.pattern, ast.MatchOr) else [case.pattern]
    if all(isinstance(one, ast.MatchValue) and isinstance(one.value, ast.Constant) for one in patterns):
        return any(one.value.value == value for one in patterns)
    return True if isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None else None


def narrowing(m: Walker, test: ast.expr) -> Callable[[bool], AbstractContextManager[None]]:
    """Return what makes the one name of an undecided test that may have several values, while a branch is walked, what it is there.

    Behind the branch it is what it was, unless the branch gave it another value.
    """
    found, known = [], vars(test)
    if "names" not in known:
        known["names"] = {one.id for one in walk(test) if isinstance(one, ast.Name)}
    for name in known["names"]:
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
