"""What several checks need to know: whether a program switches autograd off, and what a piece of code does to a tensor's graph."""

from __future__ import annotations

import ast

from mpslint.facts.values import Call, Loop
from mpslint.program.walk import walk
from mpslint.rule.autograd import SWITCHES
from mpslint.rule.loops import called_name, inside
from mpslint.settings.evidence import Evidence

LEAVES_GRAPH = frozenset(
    {"item", "detach", "tolist", "numpy", "data", "float", "int", "len", "detach_", "argmax", "size", "shape", "bool", "str"}
)
"""Calls and attributes after which a value holds no graph."""
LEAVES_DEVICE = LEAVES_GRAPH - {"detach", "detach_", "data", "argmax"} | {"cpu"}
"""Calls after which a value is no longer on the device."""


def switches_off_for_good(evidence: Evidence) -> bool:
    """Return whether the program turns autograd off as a statement."""
    if "switched off for good" not in evidence.memo:
        switches = [call for call in evidence.facts.calls if call.name.endswith(".set_grad_enabled")]
        evidence.memo["switched off for good"] = any(not _is_with(call, evidence) for call in switches)
    return bool(evidence.memo["switched off for good"])


def _is_with(call: Call, evidence: Evidence) -> bool:
    return isinstance(evidence.parents.get(call.node), ast.withitem)


def switches_off(node: ast.AST) -> bool:
    """Return whether a `with` statement switches autograd off, or may."""
    return isinstance(node, (ast.With, ast.AsyncWith)) and any(word in ast.unparse(item) for item in node.items for word in SWITCHES)


def is_switched_off(node: ast.AST, loop: Loop, evidence: Evidence) -> bool:
    """Return whether a `with` statement inside a loop switches autograd off around an expression."""
    above: ast.AST | None = node
    while above is not None and above is not loop:
        if switches_off(above):
            return True
        above = evidence.parents.get(above)
    return False


def touches(node: ast.AST, words: frozenset[str]) -> bool:
    """Return whether an expression calls or reads one of these names."""
    return any(called_name(inner) in words or (isinstance(inner, ast.Attribute) and inner.attr in words) for inner in walk(node))


def last_value(loop: Loop, name: str, before: ast.AST) -> ast.expr | None:
    """Return the expression that a loop's body last gives to a name before a place, or None."""
    found: ast.expr | None = None
    line = -1
    for node in inside(loop):
        if isinstance(node, ast.Assign) and node.lineno <= before.lineno:  # type: ignore[attr-defined]
            named = any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
            if named and node.lineno > line:
                found, line = node.value, node.lineno
    return found


def names_in(node: ast.AST) -> set[str]:
    """Return the names that an expression reads."""
    return {inner.id for inner in walk(node) if isinstance(inner, ast.Name)}
