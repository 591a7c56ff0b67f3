"""What several checks need to know: whether autograd is on, and what a piece of code does to a tensor's graph."""

from __future__ import annotations

import ast

from mpslint.facts.values import Call, Context, Instance, Known, Loop, Symbol, Value
from mpslint.program.walk import walk
from mpslint.rule.loops import called_name, inside
from mpslint.settings.evidence import Evidence

SWITCHES = ("no_grad", "inference_mode", "set_grad_enabled")
"""Managers and decorators that switch autograd, by the last part of their name."""
LEAVES_GRAPH = frozenset(
    {"item", "detach", "tolist", "numpy", "data", "float", "int", "len", "detach_", "argmax", "size", "shape", "bool", "str"}
)
"""Calls and attributes after which a value holds no graph."""
LEAVES_DEVICE = LEAVES_GRAPH - {"detach", "detach_", "data", "argmax"} | {"cpu"}
"""Calls after which a value is no longer on the device."""


def has_gradients(context: Context) -> bool:
    """Return whether autograd is certainly on: no manager or decorator around a place may have switched it off."""
    return not any(_may_switch(manager) for manager in context.managers)


def _may_switch(manager: Value) -> bool:
    if isinstance(manager, (Instance, Symbol)):
        name = manager.name.rsplit(".", 1)[-1]
        return (name in SWITCHES and not _is_on(manager)) or not manager.name
    return True


def _is_on(manager: Value) -> bool:
    """Return whether `set_grad_enabled(True)` is meant."""
    call = manager.call if isinstance(manager, Instance) else None
    first = call.arguments[0].value if call is not None and call.arguments else None
    return isinstance(first, Known) and first.value is True


def switches_off_for_good(evidence: Evidence) -> bool:
    """Return whether the program turns autograd off as a statement."""
    if "switched off for good" not in evidence.memo:
        switches = [call for call in evidence.facts.calls if call.name.endswith(".set_grad_enabled")]
        evidence.memo["switched off for good"] = any(not _is_with(call, evidence) for call in switches)
    return bool(evidence.memo["switched off for good"])


def _is_with(call: Call, evidence: Evidence) -> bool:
    return isinstance(evidence.parents.get(call.node), ast.withitem)


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
