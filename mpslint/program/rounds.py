"""Loops whose rounds are walked one by one: over a few constants, and with a body that only looks at values and gives them to names."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mpslint.facts.values import Items, Known, Value, is_weak
from mpslint.program.bags import LOOKING
from mpslint.program.walk import walk

MOST_ROUNDS = 16
"""Parts of a dotted key, say."""
_STATEMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.If, ast.Return, ast.Raise, ast.Pass)
_NEVER = (ast.Yield, ast.YieldFrom, ast.Await, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_CALLED = (LOOKING - {"update", "print"}) | {"getattr", "hasattr"}


def rounds_of(node: ast.For | ast.AsyncFor, iterated: Value) -> Sequence[Value] | None:
    """Return what the variable of a loop is in each round; None for a loop that is walked once, as any of its rounds.

    Walking such a body round by round is what Python does: no round ends early but by leaving the function, and each is short.
    """
    if not isinstance(iterated, Items) or iterated.open or iterated.kind == "set" or not 0 < len(iterated.slots) <= MOST_ROUNDS:
        return None
    values = iterated.values()
    if not all(isinstance(one, Known) and not is_weak(one) for one in values):
        return None
    known = vars(node)  # the runs of a project walk the same nodes
    if "only_names" not in known:
        known["only_names"] = isinstance(node, ast.For) and all(map(_only_names, node.body))
    return values if known["only_names"] else None


def _only_names(statement: ast.stmt) -> bool:
    """Return whether a statement does nothing but look at values, give them to names, and leave the function."""
    if isinstance(statement, ast.Raise):
        return True
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if not isinstance(statement, _STATEMENTS):
        return False
    if isinstance(statement, ast.AugAssign) and any(isinstance(node, (ast.List, ast.Tuple, ast.Set)) for node in walk(statement.value)):
        return False  # it changes a list, which may have other names
    inner = [*statement.body, *statement.orelse] if isinstance(statement, ast.If) else []
    below = {id(node) for one in inner for node in walk(one)}
    return all(map(_only_names, inner)) and all(_looks(node) for node in walk(statement) if id(node) not in below)


def _looks(node: ast.AST) -> bool:
    """Return whether a part of a statement calls nothing but what looks at values, and writes nothing but names."""
    if isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        return isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
        return name in _CALLED
    return not isinstance(node, _NEVER)
