"""A LayerNorm that gets what frozen layers give: `head(backbone(x))` with `head = Sequential(LayerNorm(...), ...)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.program.walk import walk
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

NORM, CHAIN = "torch.nn.LayerNorm", "torch.nn.Sequential"
SWITCH = "requires_grad_"
GATE = Gate(words=("LayerNorm",), file_words=(SWITCH,))


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each such LayerNorm once, where it is made. Modules are told apart by how they are written, such as `self.backbone`."""
    made = {call.node: call for call in evidence.facts.calls if call.name in (NORM, CHAIN)}
    nodes = [node for statement in evidence.parsed.body for node in ast.walk(statement)]
    frozen = _frozen(nodes)
    norms = _norms(nodes, {node: call.name for node, call in made.items()})
    if not (frozen and norms):
        return
    functions = [list(walk(node)) for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    found = set()
    for scope in [[node for statement in evidence.parsed.body for node in walk(statement)], *functions]:
        for node in scope:
            norm = norms.get(ast.unparse(node.func)) if isinstance(node, ast.Call) and node.args else None
            if isinstance(node, ast.Call) and norm is not None and norm not in found and _gives(node.args[0], frozen, scope):
                found.add(norm)
                call = made[norm]
                yield Match(evidence.span_of(norm.func), {"written": "LayerNorm"}, call=call, context=call.context, node=norm)


def _norms(nodes: list[ast.AST], made: Mapping[ast.Call, str]) -> dict[str, ast.Call]:
    """Return the LayerNorm that a module begins with, by how the module is written."""
    assigned = [(node.targets, _first_norm(node.value, made)) for node in nodes if isinstance(node, ast.Assign)]
    return {ast.unparse(target): norm for targets, norm in assigned if norm is not None for target in targets}


def _frozen(nodes: list[ast.AST]) -> set[str]:
    """Return how the modules are written that are frozen, and never thawed."""
    switched: dict[str, set[bool]] = {}
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == SWITCH:
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            is_off = bool(given) and isinstance(given[0], ast.Constant) and given[0].value is False
            switched.setdefault(ast.unparse(node.func.value), set()).add(is_off)
    return {name for name, ways in switched.items() if ways == {True}}


def _first_norm(value: ast.expr, made: Mapping[ast.Call, str]) -> ast.Call | None:
    """Return the LayerNorm that what is assigned begins with, moved to a device or not; None where it begins with something else."""
    while isinstance(value, ast.Call) and value not in made and isinstance(value.func, ast.Attribute):
        value = value.func.value
    if not isinstance(value, ast.Call):
        return None
    if made.get(value) == CHAIN and value.args:
        return _first_norm(value.args[0], made)
    return value if made.get(value) == NORM else None


def _gives(value: ast.expr, frozen: set[str], scope: list[ast.AST]) -> bool:
    """Return whether a value is what a frozen module gives, or a part of that; a name, where nothing else is assigned to it."""
    while isinstance(value, (ast.Attribute, ast.Subscript)):
        value = value.value
    if isinstance(value, ast.Name):
        name = value.id
        given = [node.value for node in scope if isinstance(node, ast.Assign) and name in map(ast.unparse, node.targets)]
        stored = [node for node in scope if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)]
        return len(given) == len(stored) == 1 and not isinstance(given[0], ast.Name) and _gives(given[0], frozen, scope)
    return isinstance(value, ast.Call) and any(ast.unparse(value.func) in (name, f"{name}.forward") for name in frozen)
