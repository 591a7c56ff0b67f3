"""Modules that a test for CUDA moves to the CPU: `if not torch.cuda.is_available(): model.to(torch.device("cpu"))`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mpslint.checks._named_devices import names_device
from mpslint.checks._written import plain_text
from mpslint.facts.facts import Choice
from mpslint.rule.loops import called_name
from mpslint.settings.evidence import Evidence


def moved_to_cpu(node: ast.If, choice: Choice, evidence: Evidence) -> ast.Expr | None:
    """Return the statement that moves a module in place to the CPU, where the other branch moves it to CUDA or there is none.

    Where a Trainer or an Accelerator moves the model afterwards, nothing.
    """
    taken, other = (node.body, node.orelse) if choice.answer else (node.orelse, node.body)
    owner = next((owner for statement in taken if (owner := _moved(statement, "cpu"))), "")
    if not owner or evidence.has_device_chooser or (other and owner not in [_moved(one, "cuda") for one in other]):
        return None
    return next(one for one in taken if isinstance(one, ast.Expr) and _moved(one, "cpu") == owner)


def _moved(statement: ast.stmt, device: str) -> str:
    """Return what a statement by itself moves to a device; tensors, of which it would be a copy that nothing keeps, move in no such way."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return ""
    if called_name(call) == device == "cuda" and not call.args:
        return plain_text(call.func.value)
    given: Sequence[ast.expr] = [*call.args, *(one.value for one in call.keywords if one.arg == "device")]
    return plain_text(call.func.value) if called_name(call) == "to" and len(given) == 1 and names_device(given[0], device) else ""
