"""A LayerNorm that gets what frozen layers give: `head(backbone(x))` with `head = Sequential(LayerNorm(...), ...)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from mpslint.program.walk import walk
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

NORM, CHAIN = "torch.nn.LayerNorm", "torch.nn.Sequential"
SWITCH = "requires_grad_"
_NAME = re.compile(r"[^\W\d]\w*")


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each such LayerNorm once, where it is made. Modules are told apart by how they are written, such as `self.backbone`."""
    made = {call.node: call for call in evidence.facts.calls if call.name in (NORM, CHAIN)}
    norms = _norms(evidence, {node: call.name for node, call in made.items()})
    frozen = _frozen(evidence.nodes_beside(SWITCH)) if norms else set()
    found = set()
    for written, norm in norms.items() if frozen else ():
        for node in chain.from_iterable(evidence.nodes_beside(word) for word in _NAME.findall(written)[-1:]):
            is_called = isinstance(node, ast.Call) and bool(node.args) and norm not in found and ast.unparse(node.func) == written
            if is_called and isinstance(node, ast.Call) and any(_gives(node.args[0], frozen, scope) for scope in _scopes(node, evidence)):
                found.add(norm)
                call = made[norm]
                yield Match(evidence.span_of(norm.func), {"written": "LayerNorm"}, call=call, context=call.context, node=norm)


def _scopes(node: ast.AST, evidence: Evidence) -> Iterator[list[ast.AST]]:
    """Yield what stands in each function around a node, from the innermost one, and in the whole program."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    above = evidence.above(node, functions)
    while above is not None:
        yield list(walk(above))
        above = evidence.above(above, functions)
    yield [inner for statement in evidence.parsed.body for inner in walk(statement)]


def _norms(evidence: Evidence, made: Mapping[ast.Call, str]) -> dict[str, ast.Call]:
    """Return the LayerNorm that a module begins with, by how the module is written."""
    assigned = {evidence.above(node, (ast.Assign,)): None for node, name in made.items() if name == NORM}
    in_order = sorted((node for node in assigned if isinstance(node, ast.Assign)), key=lambda node: (node.lineno, node.col_offset))
    begun = [(node.targets, _first_norm(node.value, made)) for node in in_order]
    return {ast.unparse(target): norm for targets, norm in begun if norm is not None for target in targets}


def _frozen(nodes: Iterable[ast.AST]) -> set[str]:
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
