"""What is written in an expression: names and paths of attributes, and what is computed from them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mpslint.program.walk import walk


def plain_text(node: ast.AST) -> str:
    """Return a name or a path of attributes as it is written, '' for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = plain_text(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    return ""


def computed_from(names: set[str], nodes: Sequence[ast.AST]) -> set[str]:
    """Return names, and those that are assigned from expressions in which one of them stands."""
    found, before = set(names), 0
    while len(found) > before:
        before = len(found)
        for node in nodes:
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None and _names(node.value) & found:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found |= {name for target in targets for name in _names(target)}
    return found - {"self"}


def _names(node: ast.AST) -> set[str]:
    """Return the names and attributes that stand in an expression."""
    return {inner.id if isinstance(inner, ast.Name) else inner.attr for inner in walk(node) if isinstance(inner, (ast.Name, ast.Attribute))}
