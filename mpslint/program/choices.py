"""Choices by what the platform answers: what each gives on the Target, and what it would give under the other answer."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from mpslint.facts.facts import Choice, Uses
from mpslint.facts.values import UNKNOWN, Items, Known, Symbol, Unknown, Value, is_weak
from mpslint.program.machine import Walker
from mpslint.tensors.passed_over import moves_in

RETURNED = "return"


def source_of(m: Walker, test: Value) -> str:
    """Return the platform question that decides a test; '' where none does. A function that isn't called is asked whether it is true."""
    if isinstance(test, Symbol):
        return f"{test.name}.__bool__" if test.name in m.platform.results else ""
    return test.source if isinstance(test, (Known, Unknown)) and not is_weak(test) else ""


def note(m: Walker, node: ast.expr, test: Value, value: Value, other: ast.expr | Value) -> Value:
    """Note that an expression gives a value for the answer to a platform question, and would give another for another answer; return it."""
    source = source_of(m, test)
    if source and not m.is_silent:
        left, instead = (moves_in(m, [other]), _unnoted(m, other)) if isinstance(other, ast.expr) else ((), other)
        m.facts.choices.append(Choice(node, source, bool(m.truth(test)), value, m.context, left, given={"": value}, instead={"": instead}))
    return value


def looked_up(m: Walker, node: ast.expr, key: Value, found: Value, of: Callable[[Value], Value]) -> Value:
    """Note what is looked up by the answer to a platform question, and what would be by the other answer; return it."""
    is_answer = isinstance(key, Known) and isinstance(key.value, (bool, int)) and key.source
    return note(m, node, key, found, of(Known(not key.value))) if is_answer and isinstance(key, Known) else found


def note_either(m: Walker, node: ast.IfExp, first: Value, second: Value) -> None:
    """Note that an expression names a device that the Target lacks, or another one, by what isn't known."""
    if isinstance(first, Known) and isinstance(second, Known) and m.platform.is_absent_device(first.value) and not m.is_silent:
        m.facts.choices.append(Choice(node, "", False, None, m.context, given={"": second}, instead={"": first}))


def walked(m: Walker, node: ast.If, source: str, answer: bool) -> bool:
    """Walk the branch of an `if` that the Target takes, and note what it decides; return whether the path ends there."""
    taken, left = (node.body, node.orelse) if answer else (node.orelse, node.body)
    other = dict(_assigned(left))
    targets = {name: target for name, (target, _) in (*_assigned(taken), *other.items()) if target is not None}
    instead = {name: _unnoted(m, other[name][1] if name in other else target) for name, target in targets.items()}
    if RETURNED in other:
        instead[RETURNED] = _unnoted(m, other[RETURNED][1])
    choice = Choice(node, source, answer, None, m.context, moves_in(m, left), m.frame, {}, instead)
    m.facts.choices.append(choice)
    leaves = m.execute_block(m, taken)
    choice.given.update({} if leaves else {name: _unnoted(m, target) for name, target in targets.items()})
    return leaves


def note_perhaps(m: Walker, node: ast.If, test: Value) -> None:
    """Note what an `if` may give whose test is true for the answer to a platform question, unless something unknown is not."""
    if isinstance(test, Unknown) and test.source in m.platform.cuda_questions and not m.is_silent:
        found = dict(_assigned(node.body))
        given = {name: _unnoted(m, value) for name, (_, value) in found.items()}
        instead = {name: _unnoted(m, target) for name, (target, _) in found.items()}
        m.facts.choices.append(Choice(node, "", True, None, m.context, (), m.frame, given, instead))


def returned(m: Walker, value: Value) -> None:
    """Note what a function returns that came to a choice."""
    for choice in m.facts.choices if isinstance(value, (Known, Items)) and not m.is_silent else ():
        if choice.frame is m.frame:
            choice.given.setdefault(RETURNED, value)


def _assigned(block: Sequence[ast.stmt]) -> Iterator[tuple[str, tuple[ast.expr | None, ast.expr]]]:
    """Yield what the statements of a block assign, and return: the target, and the expression that it is given."""
    for one in block:
        if isinstance(one, ast.If):
            yield from (*_assigned(one.body), *_assigned(one.orelse))
        elif isinstance(one, ast.Return) and one.value is not None:
            yield RETURNED, (None, one.value)
        elif isinstance(one, (ast.Assign, ast.AnnAssign)) and one.value is not None:
            target = one.targets[0] if isinstance(one, ast.Assign) else one.target
            parts = [one.elts if isinstance(one, ast.Tuple) else [] for one in (target, one.value)]
            pairs = zip(*parts, strict=True) if parts[0] and len(parts[0]) == len(parts[1]) else [(target, one.value)]
            yield from ((ast.unparse(name), (name, value)) for name, value in pairs)


def _unnoted(m: Walker, node: ast.expr | None) -> Value:
    """Return what an expression is, without the uses that it is of what it reads: nothing of it runs."""
    uses, m.facts.uses = m.facts.uses, Uses()
    try:
        return m.looked_at(node) if node is not None else UNKNOWN
    finally:
        m.facts.uses = uses
