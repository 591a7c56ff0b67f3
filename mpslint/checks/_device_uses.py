"""What a program does with the device that it selects: whether it puts anything there, or only shows its name."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeGuard

from mpslint.program.walk import walk
from mpslint.settings.evidence import Evidence

SHOWS = frozenset({"print", "debug", "info", "warning"})
"""Functions, and methods of a logger, that only show what they get."""


def is_used(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a program does more with the name of a device than to show it; of a module to import that is not known."""
    if _is_shown(node, evidence):
        return False
    parent = evidence.parents.get(node)
    while isinstance(parent, ast.Call):
        parent = evidence.parents.get(parent)
    target = parent.targets[0] if isinstance(parent, ast.Assign) else None
    if not isinstance(target, ast.Name):
        return True
    body = _body_around(target, evidence)
    if body is None and not evidence.is_program:
        return True
    loads = (
        n for n in evidence.nodes_beside(target.id, body) if isinstance(n, ast.Name) and n.id == target.id and isinstance(n.ctx, ast.Load)
    )
    return any(not _is_shown(load, evidence) for load in loads)


def _body_around(target: ast.Name, evidence: Evidence) -> Sequence[ast.stmt] | None:
    """Return the body of the function whose own a name is; None for a name that others may read: of the module, or of a class."""
    above = evidence.above(target, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    if not isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    shared = (node for statement in above.body for node in walk(statement) if isinstance(node, (ast.Global, ast.Nonlocal)))
    return None if any(target.id in node.names for node in shared) else above.body


def _is_shown(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether an expression is only printed or logged, or stands at the end of a cell."""
    above = evidence.parents.get(node)
    while isinstance(above, (ast.FormattedValue, ast.JoinedStr, ast.BoolOp, ast.BinOp)) or _makes_text(above):
        above = evidence.parents.get(above)
    return isinstance(above, ast.Expr) or (isinstance(above, ast.Call) and ast.unparse(above.func).rpartition(".")[2] in SHOWS)


def _makes_text(node: ast.AST | None) -> TypeGuard[ast.AST]:
    """Return whether an expression makes a text of what it gets: `str(device)`, `"on {}".format(device)`."""
    return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("str", "format")
