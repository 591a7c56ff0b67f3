"""What is written in an expression: names and paths of attributes."""

from __future__ import annotations

import ast


def plain_text(node: ast.AST) -> str:
    """Return a name or a path of attributes as it is written, '' for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = plain_text(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    return ""
