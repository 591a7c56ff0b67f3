"""How surely a program reaches a place: the tests, loops and handlers around it, and the other ways past it."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias

from mpslint.facts.values import Call, Context, Guard, any_guard
from mpslint.program.operators import COMPARE
from mpslint.program.platform import load_platform
from mpslint.program.walk import at_once, bound_by, walk
from mpslint.rule.rule import CALLED, Rule
from mpslint.settings.evidence import Evidence
from mpslint.settings.setting import Setting
from mpslint.tensors.kinds import load_kinds

ORDERS: Mapping[type[ast.AST], Callable[[Any, Any], bool]] = {**COMPARE, ast.Is: operator.eq, ast.IsNot: operator.ne}
NO_RANK = frozenset([(operator.ge, 0), (operator.gt, -1), (operator.lt, 0), (operator.le, -1), (operator.eq, -1), (operator.ne, -1)])
"""Comparisons of a rank in programs where it is -1 unless there are several processes."""


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


def is_of_one_process(guard: Guard) -> bool:
    """Return whether a test asks for several processes only, and the way taken is that of a run which has one, and of the defaults."""
    return of_one_process(guard.test) is guard.taken and guard.default in (None, guard.taken)


def of_one_process(test: ast.expr) -> bool | None:
    """Return what a test is in a run of one process (`args.distributed` and `world_size > 1` are False); None where it asks for more."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        answer = of_one_process(test.operand)
        return None if answer is None else not answer
    if isinstance(test, ast.BoolOp):
        answers = [of_one_process(part) for part in test.values]
        return None if None in answers else all(answers) if isinstance(test.op, ast.And) else any(answers)
    if isinstance(test, ast.Compare):
        return _of_comparison(test)
    return False if _speaks_of("switches", test) else None


def _of_comparison(test: ast.Compare) -> bool | None:
    compare = ORDERS.get(type(test.ops[0]))
    try:
        bound = ast.literal_eval(test.comparators[0])
    except ValueError:
        return None
    if len(test.ops) != 1:
        return None
    if isinstance(test.ops[0], (ast.In, ast.NotIn)) and isinstance(bound, (list, tuple)) and _speaks_of("ranks", test.left):
        return (-1 in bound or 0 in bound) is isinstance(test.ops[0], ast.In)
    if compare is None:
        return None
    if _speaks_of("ranks", test.left) and bound is None:
        return compare(None, bound)
    if isinstance(bound, bool):
        return compare(False, bound) if _speaks_of("switches", test.left) else None
    if not isinstance(bound, int):
        return None
    if _speaks_of("ranks", test.left) and bound <= 1:
        return compare(-1 if (compare, bound) in NO_RANK else 0, bound)
    return compare(1, bound) if _speaks_of("counts", test.left) and bound >= 1 else None  # some programs call one process 0


def _speaks_of(what: str, node: ast.expr) -> bool:
    return _words()[what].search(ast.unparse(node).replace('"', "").replace("'", "").replace("[", ".").replace("]", "")) is not None


@cache
def _words() -> Mapping[str, re.Pattern[str]]:
    return {what: re.compile(words, re.IGNORECASE) for what, words in load_platform().several_processes.items()}


def is_reached(rule: Rule, context: Context | None) -> bool:
    """Return whether a place is reached as surely as a rule asks: `certain: called` needs only a caller, and defaults that lead there."""
    if context is None:
        return True
    if (rule.by_default or rule.certain == CALLED) and any_guard(context.guards, "is off", is_off):
        return False
    if rule.certain == CALLED:
        return context.called and not context.in_handler and not is_caught(context)
    return not rule.certain or is_certain(context, rule.raises)


def makes_another(rule: Rule, setting: Setting | None, evidence: Evidence, holds: Callable[[Setting], bool]) -> bool:
    """Return whether a program may take another way, on which it makes, for the same purpose, an object that a rule has nothing against.

    `setting` is what the rule is about at the place; `holds` says whether another object's setting of that name is as bad.
    """
    if rule.certain != CALLED or setting is None or setting.call is None:
        return False
    open_tests = {(id(guard.test), guard.taken) for guard in setting.call.context.guards if _is_open(guard)}
    if not open_tests:
        return False
    for call, own in _alike(setting, evidence):
        answers = {(id(guard.test), not guard.taken) for guard in call.context.guards}
        if not open_tests.isdisjoint(answers) and not any(map(holds, own)) and _serves_as(call, setting.call, evidence):
            return True
    return False


def _is_open(guard: Guard) -> bool:
    """Return whether nothing says which way a test goes."""
    return guard.default is None and of_one_process(guard.test) is None and not guard.is_check


def _alike(setting: Setting, evidence: Evidence) -> Iterator[tuple[Call, list[Setting]]]:
    """Yield the other calls in the role of a setting's, each with its settings of the same name."""
    for plan in evidence.plans:
        for call in plan.calls.get(setting.role, ()):
            if call is not setting.call:
                yield call, [one for one in plan.settings.get(setting.name, ()) if one.call is call]


def _serves_as(call: Call, other: Call, evidence: Evidence) -> bool:
    """Return whether what two calls make is used alike: by a method that both have called; where none is seen, it may well be."""
    called = evidence.facts.methods_called()
    first, second = (called.get(id(one.result), set()) - {""} for one in (call, other))
    return not first or not second or not first.isdisjoint(second)
