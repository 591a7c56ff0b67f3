"""Loops that run a model in evaluation mode with autograd on."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mpslint.checks._gradients import SWITCHES, called_name, has_gradients, inside, switches_off_for_good
from mpslint.judge import Match
from mpslint.program.facts import Context, FunctionNode
from mpslint.program.walk import walk
from mpslint.settings.evidence import Evidence

WANTS_GRADIENTS = ("backward", "autograd.grad", "requires_grad", "manual_backward", "functional.jacobian")
"""Words of code that takes gradients on purpose."""
WORDS = (".eval(", ".train(False")
"""One of these stands in every function, and file, in which it finds something."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the calls of models that keep a graph for an evaluation that never uses it."""
    if switches_off_for_good(evidence):
        return
    for loop, _, context in evidence.facts.loops:
        if not isinstance(loop, (ast.For, ast.AsyncFor)) or not has_gradients(context) or not context.called:
            continue
        source = evidence.text_of(loop)
        if any(word in source for word in WANTS_GRADIENTS):
            continue
        models = _in_evaluation_mode(_scope(context, evidence), loop)
        call = next((node for node in _forwards(loop, evidence) if called_name(node) in models), None)
        if call is not None:
            values = {"written": ast.unparse(call.func), "model": called_name(call)}
            yield Match(evidence.span_of(call), values, context=context, node=call)


def _scope(context: Context, evidence: Evidence) -> Sequence[ast.stmt]:
    function: FunctionNode | None = context.functions[-1] if context.functions else None
    return function.body if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) else evidence.parsed.body


def _in_evaluation_mode(scope: Sequence[ast.stmt], loop: ast.For | ast.AsyncFor) -> set[str]:
    """Return the names on which `eval()` was called last, rather than `train()`, before a loop."""
    switches = [
        (node.lineno, node.func.value.id, node.func.attr)
        for statement in scope
        for node in walk(statement)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
        if node.func.attr in ("eval", "train") and node.lineno <= loop.lineno + 1
    ]
    modes = {name: mode for _, name, mode in sorted(switches)}
    return {name for name, mode in modes.items() if mode == "eval"}


def _forwards(loop: ast.For | ast.AsyncFor, evidence: Evidence) -> Iterator[ast.Call]:
    """Yield the plain calls of a loop's body that no manager inside it takes autograd away from."""
    for node in inside(loop):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not _is_switched(node, loop, evidence):
            yield node


def _is_switched(node: ast.AST, loop: ast.AST, evidence: Evidence) -> bool:
    above: ast.AST | None = node
    while above is not None and above is not loop:
        if isinstance(above, (ast.With, ast.AsyncWith)) and any(word in ast.unparse(item) for item in above.items for word in SWITCHES):
            return True
        above = evidence.parents.get(above)
    return False
