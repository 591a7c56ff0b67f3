"""Tests that ask whether a run has several processes: which way a run of one takes."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from mpslint.facts.values import Guard
from mpslint.program.platform import load_platform

ORDERS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.eq,
    ast.IsNot: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
NO_RANK = frozenset([(operator.ge, 0), (operator.gt, -1), (operator.lt, 0), (operator.le, -1), (operator.eq, -1), (operator.ne, -1)])
"""Comparisons of a rank in programs where it is -1 unless there are several processes."""


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
