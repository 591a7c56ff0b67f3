"""What is right above a node, and below it, is what `ast` says."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path

import pytest

from mpslint.program.walk import Parents, walk

CODE = """\
import torch; x = 1; y = f(x)
@decorated(with_a(call))
def function(a, *, b=default):
    with torch.no_grad() as manager, other:
        return [one for one in a if one]

class Thing(Base): z: int = 3; w = z
match x:
    case [1, {"a": n}]: print(n)
"""
LIBRARY = Path(sysconfig.get_paths()["stdlib"])


SHARED = (ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop)
"""Nodes of which one object may stand at many places."""


def parents_of(body: list[ast.stmt]) -> dict[ast.AST, ast.AST]:
    """Return the same from `ast` alone."""
    return {child: node for statement in body for node in ast.walk(statement) for child in ast.iter_child_nodes(node)}


@pytest.mark.parametrize("text", [CODE, *((LIBRARY / name).read_text(encoding="utf-8") for name in ("dataclasses.py", "argparse.py"))])
def test_every_node_has_the_parent_that_ast_gives_it(text: str) -> None:
    """Asked one by one, from the end, and all together; nodes without a place of their own too."""
    body = ast.parse(text).body
    expected = {child: node for child, node in parents_of(body).items() if not isinstance(child, SHARED)}

    one_by_one = Parents(body)
    assert all(one_by_one.get(child) is node for child, node in reversed(expected.items()))
    assert {child: node for child, node in Parents(body).items() if not isinstance(child, SHARED)} == expected
    assert len(Parents(body)) >= len(expected)
    assert all(statement not in one_by_one for statement in body)
    assert ast.Name("elsewhere") not in one_by_one


def test_all_nodes_are_walked() -> None:
    """Once each, without the contexts of names."""
    body = ast.parse(CODE).body

    assert set(walk(*body)) == {node for statement in body for node in ast.walk(statement) if not isinstance(node, ast.expr_context)}


def test_what_another_tool_writes_on_operators_leads_nowhere() -> None:
    """Of each operator there is one object in all trees of a process, and pyflakes writes the node above it there."""
    statement, foreign = ast.parse("if not a + b == c and d:\n    a += 1\n").body[0], ast.Name("foreign")
    operators = [node for node in ast.walk(statement) if isinstance(node, SHARED)]
    for node in operators:
        vars(node)["_above"] = foreign
    try:
        assert foreign not in walk(statement)
    finally:
        for node in operators:
            vars(node).pop("_above", None)
