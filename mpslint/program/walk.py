"""Every node of a syntax tree, as `ast.walk` gives them but three times as fast: without the contexts (`Load`), which say nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterable

_CONTEXTS = frozenset({ast.Load, ast.Store, ast.Del})
_LEAVES = frozenset({ast.Name, ast.Constant, ast.alias, ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal})
"""More than half of all nodes: what has no nodes below it but a context."""


def children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes right below a node, in the order of its fields."""
    found: list[ast.AST] = []
    if node.__class__ in _LEAVES:
        return found
    for value in node.__dict__.values():
        if value.__class__ is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST) and value.__class__ not in _CONTEXTS:
            found.append(value)
    return found


def parents_in(body: Iterable[ast.AST]) -> dict[ast.AST, ast.AST]:
    """Return for every node below some nodes the one that it is right below."""
    found: dict[ast.AST, ast.AST] = {}
    stack = list(body)
    while stack:
        node = stack.pop()
        for value in node.__dict__.values():
            for child in value if value.__class__ is list else (value,):
                if isinstance(child, ast.AST) and child.__class__ not in _CONTEXTS:
                    found[child] = node
                    if child.__class__ not in _LEAVES:
                        stack.append(child)
    return found


def walk(*nodes: ast.AST) -> Iterable[ast.AST]:
    """Return nodes and everything below them, those nearer to the top first."""
    found = list(nodes)
    for node in found:
        if node.__class__ not in _LEAVES:
            found += children(node)
    return found
