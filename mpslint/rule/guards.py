"""How surely a program reaches a place: the tests, loops and handlers around it."""

from __future__ import annotations

import ast
import builtins
import dataclasses
from collections.abc import Collection, Iterable, Iterator
from typing import TypeAlias

from mpslint.facts.values import Call, Context, Guard, any_guard
from mpslint.program.platform import load_platform
from mpslint.program.walk import at_once, bound_by, walk
from mpslint.rule.one_process import is_of_one_process, of_one_process
from mpslint.rule.rule import Rule
from mpslint.settings.evidence import Evidence
from mpslint.tensors.kinds import load_kinds


def is_guarded(context: Context | None, rule: Rule) -> bool:
    """Return whether an undecided test, or a loop, around the place speaks of the very thing that the rule is about.

    For a rule with `by_default` the default of an option decides. The way that a run of one process takes is a Mac's, whatever its test
    speaks of.
    """
    words = rule.unless_guarded
    if context is None or words is None:
        return False

    def speaks(guard: Guard) -> bool:
        is_asked = guard.default is None or not rule.by_default
        return is_asked and words.search(guard.text) is not None and not is_of_one_process(guard)

    iterated = (_iterated(loop.iter) for loop in context.loops if not isinstance(loop, ast.While))
    return any_guard(context.guards, ("speaks", words, rule.by_default), speaks) or any(words.search(text) for text in iterated)


def _iterated(node: ast.expr) -> str:
    """Return what a loop goes through, without named arguments: `pin_memory=torch.cuda.is_available()` doesn't decide whether it runs."""
    return " ".join([ast.unparse(node.func), *map(_iterated, node.args)]) if isinstance(node, ast.Call) else ast.unparse(node)


def on_every_way(context: Context | None, others: Iterable[Context | None]) -> Context | None:
    """Return the context of a place without the tests that lead to it, or to one of some others, whatever their answers are."""
    if context is None:
        return None
    ways = {_way(other.guards) for other in others if other is not None}
    for way in sorted(ways, key=len, reverse=True):
        while way and _with_other_answer(way) in ways:
            way = way[:-1]
            ways.add(way)
    own = _way(context.guards)
    while own and _with_other_answer(own) in ways:
        own = own[:-1]
    return dataclasses.replace(context, guards=context.guards[: len(own)])


Way: TypeAlias = tuple[tuple[int, bool], ...]
"""The tests that lead to a place, each with its answer."""


def _with_other_answer(way: Way) -> Way:
    return (*way[:-1], (way[-1][0], not way[-1][1]))


def _way(guards: Iterable[Guard]) -> Way:
    return tuple((id(guard.test), guard.taken) for guard in guards)


def is_off(guard: Guard) -> bool:
    """Return whether the defaults of the options lead past the places under a test."""
    return guard.default is not None and guard.default is not guard.taken


HARMLESS_HANDLERS = frozenset(["builtins.KeyboardInterrupt", "builtins.SystemExit"])
"""What an `except` may catch without saving a run that goes wrong."""
EVERYTHING = frozenset(["", "builtins.BaseException"])
"""What catches whatever is raised, an `except` without an exception among them."""


def is_certain(context: Context | None, raises: Collection[str] = ()) -> bool:
    """Return whether a program that is started reaches a place: by no undecided test, in no `try` that catches, in a function it calls.

    Where it is known what a place `raises`, a `try` that only catches other exceptions doesn't save it.
    """
    if context is None:
        return True
    is_undecided = any_guard(context.guards, "is undecided", _is_undecided)
    return context.called and not is_undecided and not _is_saved(context, raises) and not context.in_handler


def _is_undecided(guard: Guard) -> bool:
    """Return whether a run on a Mac may well take the other path of a test: not that of several processes, nor that of a wrong input."""
    if guard.default is not None:
        return guard.default is not guard.taken
    return not is_of_one_process(guard) and not (guard.is_check and of_one_process(guard.test) is None)


def is_caught(context: Context, others: Collection[str] = HARMLESS_HANDLERS) -> bool:
    """Return whether the program catches, or suppresses, some exception that a place may raise: any but some others."""
    return any(set(caught).difference(others) for caught in context.handlers)


def is_skipped(call: Call, evidence: Evidence) -> bool:
    """Return whether handlers around a call, or around the calls that led there, only give up the work that a `try` does with its value."""
    tries = list(tries_around(call.node, call.context, evidence))
    return bool(tries) and all(isinstance(one, ast.Try) and _gives_up(one, node, evidence) for one, _, node in tries)


def tries_around(
    node: ast.AST, context: Context, evidence: Evidence
) -> Iterator[tuple[ast.Try | ast.With | ast.AsyncWith, ast.stmt, ast.AST]]:
    """Yield each `try` with handlers, and each `with` that suppresses, around a node or around the calls that led there, with the statement
    in it and the node."""
    suppressing = {one.node for name in load_platform().suppressors for one in evidence.calls_of_name.get(name, ())}
    for one in (*(call for call in context.calls if call is not None), node):
        below = one
        while (above := evidence.parents.get(below)) is not None and not isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
            saves = isinstance(above, ast.Try) and above.handlers
            suppresses = isinstance(above, (ast.With, ast.AsyncWith)) and any(item.context_expr in suppressing for item in above.items)
            if (saves or suppresses) and below in above.body:  # type: ignore[attr-defined]
                yield above, below, one  # type: ignore[misc]
            below = above


def _gives_up(guarded: ast.Try, node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a `try` works with what a node in it gives, notes no answer of its own, and has nothing else done in its handlers."""
    done = {one for statement in guarded.body for one in at_once(statement)}
    handled = {one for handler in guarded.handlers for statement in handler.body for one in at_once(statement)}
    given = [one.value for one in done if isinstance(one, (ast.Assign, ast.Return))]
    answers = any(isinstance(one, ast.Constant) and isinstance(one.value, (bool, str)) for one in given)
    gives = any(isinstance(one, ast.Return) and one.value is not None and not _is_no_answer(one.value) for one in handled)
    called = [one.func for one in handled if isinstance(one, ast.Call)]
    moves = any(isinstance(one, ast.Attribute) and one.attr in load_kinds().moves for one in called)
    renewed = {name for one in done for name in bound_by(one)}.intersection(name for one in handled for name in bound_by(one))
    if gives or moves or renewed or any(not handled.isdisjoint(one.context.calls) for one in evidence.facts.calls):
        return False
    if any(not done.isdisjoint((one.node, *one.context.calls)) for one in evidence.calls_of_method.get("backward", ())):
        return True
    if answers or all(isinstance(handler.body[-1], (ast.Continue, ast.Break, ast.Return, ast.Raise)) for handler in guarded.handlers):
        return not answers
    made = {name for one in walk(evidence.above(node, (ast.stmt,)) or node) for name in bound_by(one)}
    used = (argument for one in done if isinstance(one, ast.Call) for argument in (*one.args, *one.keywords))
    return any(one is node or (isinstance(one, ast.Name) and one.id in made) for argument in used for one in walk(argument))


def _is_no_answer(node: ast.expr) -> bool:
    """Return whether an expression is None or a number, such as the score of work that was given up."""
    return isinstance(node, ast.Constant) and not isinstance(node.value, (bool, str))


def _is_saved(context: Context, raises: Collection[str]) -> bool:
    """Return whether an exception that a place raises is caught: one of those that are known, else any."""
    if not raises:
        return is_caught(context)
    return any(name in EVERYTHING or _is_above(name, raises) for caught in context.handlers for name in caught)


def _is_above(name: str, raises: Collection[str]) -> bool:
    """Return whether an exception of Python is one of some, or a class above one."""
    kinds = (getattr(builtins, one.removeprefix("builtins."), None) for one in (name, *raises))
    caught, *raised = (kind if isinstance(kind, type) else None for kind in kinds)
    return caught is not None and any(kind is not None and issubclass(kind, caught) for kind in raised)


def is_caught_beside(exceptions: Collection[str], handler: ast.ExceptHandler, evidence: Evidence) -> bool:
    """Return whether another handler of the same `try`, or of one around it, catches one of some exceptions ('' for a bare `except`)."""
    tries: set[ast.AST] = set()
    above = evidence.parents.get(handler)
    while above is not None:
        tries |= {above} if isinstance(above, ast.Try) else set()
        above = evidence.parents.get(above)
    return any(not set(exceptions).isdisjoint(one.names) for one in evidence.facts.handlers if evidence.parents.get(one.node) in tries)
