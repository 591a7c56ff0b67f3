"""A device that is chosen by whether a tensor is on CUDA becomes the tensor's own."""

from __future__ import annotations

import ast

from mpslint.core.finding import Edit
from mpslint.program.walk import called_name
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.spelling import WrittenSetting


def rewrite(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edit that takes the tensor's own device, where the choice is one expression, or an `if` that only moves something."""
    node, device = match.node, f"{match.values['tensor']}.device"
    if not isinstance(node, (ast.If, ast.IfExp)) or not isinstance(node.test, ast.Attribute):
        return None
    if isinstance(node, ast.If):
        names = [_moved_in_place(statement) for statement in node.body]
        indent = "\n" + " " * node.col_offset
        new = indent.join(f"{name} = {name}.to({device})" for name in names)
        edit = Edit(evidence.span_of(node), new)
        return WrittenSetting((edit,), new.replace(indent, "; ")) if all(names) and not node.orelse else None
    above = evidence.parents.get(node)
    if isinstance(above, ast.Call) and called_name(above) == "device" and len(above.args) == 1 and not above.keywords:
        return _taken(above, device, evidence)
    if all(isinstance(one, ast.Call) and called_name(one) == "device" for one in (node.body, node.orelse)):
        return _taken(node, device, evidence)
    moved = _moved(node.body)
    is_moved = moved is not None and ast.dump(moved) == ast.dump(node.orelse)
    return _taken(node, f"{evidence.text_of(moved)}.to({device})", evidence) if is_moved and moved is not None else None


def _moved(call: ast.expr) -> ast.expr | None:
    """Return what an expression moves to CUDA: `y` of `y.cuda()`; None for another expression."""
    is_move = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "cuda"
    return call.func.value if is_move and isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None


def _moved_in_place(statement: ast.stmt) -> str:
    """Return the name of what a statement moves to CUDA: `y` of `y = y.cuda()`; '' for another statement."""
    moved = _moved(statement.value) if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    name = ast.unparse(moved) if isinstance(moved, (ast.Name, ast.Attribute)) else ""
    return name if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name else ""


def _taken(node: ast.expr, new: str, evidence: Evidence) -> WrittenSetting:
    return WrittenSetting((Edit(evidence.span_of(node), new),), new)
