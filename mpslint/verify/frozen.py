"""Which parts of a model the code freezes: `for p in model.bert.parameters(): p.requires_grad = False`,
`model.bert.requires_grad_(False)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.settings.evidence import Evidence
from mpslint.verify.spec import Frozen

PARAMETERS = ("parameters", "named_parameters")
SWITCH, METHOD = "requires_grad", "requires_grad_"


def frozen_parts(evidence: Evidence, model: str, line: int) -> tuple[Frozen, ...]:
    """Return what is switched off and on of the model under a name, before a line, in the order of the file.

    A choice by names or numbers of layers is left out: it isn't known here.
    """
    before = [statement for statement in evidence.parsed.body if statement.lineno < line]
    return tuple(one for statement in before for one in _in(statement, model))


def _in(statement: ast.stmt, model: str) -> Iterator[Frozen]:
    """Yield what one statement of the module switches."""
    if isinstance(statement, ast.For):
        part = _part(statement.iter, model)
        if part is not None and len(statement.body) == 1:
            value = _assigned(statement.body[0], statement.target)
            if value is not None:
                yield Frozen(part, value)
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if isinstance(call.func, ast.Attribute) and call.func.attr == METHOD:
            given = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else True
            path = _path(call.func.value, model)
            if path is not None and isinstance(given, bool):
                yield Frozen(path, given)


def _part(node: ast.expr, model: str) -> str | None:
    """Return the part of the model whose parameters are gone through: `bert` of `model.bert.parameters()`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in PARAMETERS and not node.args:
        return _path(node.func.value, model)
    return None


def _path(node: ast.expr, model: str) -> str | None:
    """Return the attributes after the model's name: `bert.encoder` of `model.bert.encoder`; None for other objects."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join(reversed(names)) if isinstance(node, ast.Name) and node.id == model else None


def _assigned(statement: ast.stmt, target: ast.expr) -> bool | None:
    """Return what `param.requires_grad` is set to, without a condition, in a loop over parameters."""
    named = {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not isinstance(statement.value, ast.Constant):
        return None
    place, value = statement.targets[0], statement.value.value
    is_switch = isinstance(place, ast.Attribute) and place.attr == SWITCH and isinstance(place.value, ast.Name) and place.value.id in named
    return value if is_switch and isinstance(value, bool) else None
