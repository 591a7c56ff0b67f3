"""Models that are moved where a question for CUDA says yes, and nowhere else: `if torch.cuda.is_available(): model.cuda()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mpslint.checks._named_devices import names_device
from mpslint.facts.values import Instance, Value, alternatives_of
from mpslint.program.platform import load_platform
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.traits import PLACE, devices_of, is_array, is_module, is_tensor, trait
from mpslint.tensors.weights import has_weights


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the first move of a model in each `if` that a Mac passes over."""
    for choice in evidence.facts.choices:
        node = choice.node
        if not isinstance(node, ast.If) or choice.source not in load_platform().cuda_questions:
            continue
        taken, other = (node.body, node.orelse) if choice.answer else (node.orelse, node.body)
        moves = (call for statement in other if (call := _move(statement)) is not None)
        values = ((move, choice.passed_over.get(id(move))) for move in moves)
        move = next((move for move, value in values if value is not None and _stays(value, evidence.has_device_chooser)), None)
        if move is not None and not _places(taken):
            yield Match(evidence.span_of(move), {"written": ast.unparse(move)}, context=choice.context, node=move)


def _move(statement: ast.stmt) -> ast.Call | None:
    """Return the call that moves something to CUDA and keeps it: a module moves in place, or is assigned to its own name."""
    call = statement.value if isinstance(statement, (ast.Expr, ast.Assign)) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not _goes_to_cuda(call, call.func.attr):
        return None
    is_own = isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == ast.unparse(call.func.value)
    return call if is_own or isinstance(statement, ast.Expr) else None


def _stays(value: Value, has_device_chooser: bool) -> bool:
    """Return whether a value is a model that nothing else moves: a module with weights, or an object of which it isn't known what it is."""
    for one in alternatives_of(value):
        if not isinstance(one, Instance) or is_tensor(one) or is_array(one):
            return False
        if load_kinds().gpu in devices_of(trait(one, PLACE)) or (is_module(one) and not has_weights(one)):
            return False
        if not is_module(one) and (one.call is None or has_device_chooser):
            return False  # a batch, or what a Trainer moves afterwards
    return True


def _goes_to_cuda(call: ast.Call, method: str) -> bool:
    """Return whether a call is `.cuda()`, or `.to("cuda")` with nothing else."""
    return method == "cuda" or (method == "to" and len(call.args) == 1 and not call.keywords and names_device(call.args[0], "cuda"))


def _places(block: Sequence[ast.stmt]) -> bool:
    """Return whether a block puts anything on a device."""
    calls = (node for statement in block for node in ast.walk(statement) if isinstance(node, ast.Call))
    return any(isinstance(call.func, ast.Attribute) and call.func.attr == "to" for call in calls)
