"""What stands in a loop, and whether that loop trains."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.facts.values import Context, Loop
from mpslint.program.walk import called_name, children

BACKWARD = frozenset({"backward", "manual_backward", "grad"})
"""Methods and functions that work out gradients."""


def is_in_each_step(context: Context) -> bool:
    """Return whether a place is reached in every step of a training: its innermost loop runs `backward()`, in no loop of its own."""
    if not context.loops or context.guards or context.in_handler:
        return False
    nodes = list(inside(context.loops[-1]))
    nested = {id(node) for loop in nodes if isinstance(loop, (ast.For, ast.AsyncFor, ast.While)) for node in inside(loop)}
    return any(called_name(node) in BACKWARD and id(node) not in nested for node in nodes)


def inside(loop: Loop) -> Iterator[ast.AST]:
    """Yield the nodes of a loop's body, those of functions that it defines left out."""
    stack: list[ast.AST] = list(getattr(loop, "body", ()))
    while stack:
        node = stack.pop()
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield node
            stack += children(node)
