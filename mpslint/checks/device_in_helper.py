"""A library function that makes tensors on a device of its own choice, beside those that it is given, whose device callers decide."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._models import plain_text
from mpslint.program.walk import walk
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.rule.loops import called_name
from mpslint.settings.evidence import Evidence

GATE = Gate(words=("cuda",), may_find=lambda document, options, target: "def " in document.text and "is_available" in document.text)


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each choice of a device in a function that no program of the file calls and that moves nothing it is given."""
    if evidence.is_program:
        return
    for node in evidence.nodes_beside("is_available"):
        function = evidence.above(node, (ast.FunctionDef,))
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name) or not isinstance(function, ast.FunctionDef):
            continue
        if _moves_only_new(function, node.targets[0].id):
            yield Match(evidence.span_of(node), {"written": ast.unparse(node)}, node=node)


def _moves_only_new(function: ast.FunctionDef, device: str) -> bool:
    """Return whether a function with parameters puts on a device what it makes itself, and nothing else, and gives the device to nobody."""
    given = {one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)} - {"self", "cls"}
    is_new = False
    for node in (inner for statement in function.body for inner in walk(statement)):
        if not isinstance(node, ast.Name) or node.id != device or not isinstance(node.ctx, ast.Load):
            continue
        call = next((one for one in _calls(function) if node in one.args or any(k.value is node for k in one.keywords)), None)
        if call is None:
            return False
        if called_name(call) == "to" and isinstance(call.func, ast.Attribute):
            is_new = isinstance(call.func.value, ast.Call) and _makes_tensor(call.func.value)
        else:
            is_new = _makes_tensor(call)
        if not is_new:
            return False
    return is_new and any(_is_tensor(node, given) for statement in function.body for node in walk(statement))


def _is_tensor(node: ast.AST, names: set[str]) -> bool:
    """Return whether an expression treats one of some names as a tensor: computes with it, or asks for its shape."""
    if isinstance(node, ast.BinOp):
        return any(isinstance(side, ast.Name) and side.id in names for side in (node.left, node.right))
    return (
        isinstance(node, ast.Attribute) and node.attr in ("shape", "size") and isinstance(node.value, ast.Name) and node.value.id in names
    )


def _makes_tensor(call: ast.Call) -> bool:
    """Return whether a call is one of PyTorch's own functions: `torch.eye(3)`, but no module."""
    text = plain_text(call.func)
    return text.startswith("torch.") and text.rpartition(".")[2].islower() and not text.startswith("torch.nn.")


def _calls(function: ast.FunctionDef) -> Iterator[ast.Call]:
    return (node for statement in function.body for node in walk(statement) if isinstance(node, ast.Call))
