"""Which names some statements give a value."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from mpslint.program.loops import SCOPES
from mpslint.program.walk import children


def bound(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that some nodes give a value; `*` for an import of everything."""
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            yield node.name


def at_once(statement: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a statement that run with it: not those in functions and classes."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, SCOPES):
            waiting += children(node)
