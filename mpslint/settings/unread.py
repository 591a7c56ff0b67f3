"""Configuration objects that a program makes and gives to nothing: what they say happens nowhere."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mpslint.facts.facts import Facts
from mpslint.program.walk import walk
from mpslint.settings.plan import Matched
from mpslint.settings.roles import roles_that


def without_unread(matched: Sequence[Matched], facts: Facts) -> tuple[Matched, ...]:
    """Return the matched calls without those that only say what a model is given, where nothing reads the name of what they made.

    A file without a model may make them for others.
    """
    given = roles_that("given")
    if not any(m.pattern.role == "model" for m in matched) or not any(m.pattern.role in given for m in matched):
        return tuple(matched)
    made: dict[int, str] = {}
    read: set[str] = set()
    for node in (node for statement in facts.body for node in walk(statement)):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            made[id(node.value)] = node.targets[0].id
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            read.add(node.id)
        elif isinstance(node, (ast.Attribute, ast.Constant, ast.alias)):  # another file's `setup.config`, `globals()["config"]`, `__all__`
            read.add(str(node.attr if isinstance(node, ast.Attribute) else node.name if isinstance(node, ast.alias) else node.value))
    read.add("")
    return tuple(m for m in matched if m.pattern.role not in given or made.get(id(m.call.node), "") in read)
