"""Models that are moved where a question for CUDA says yes, and nowhere else: `if torch.cuda.is_available(): model.cuda()`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mpslint.checks._models import plain_text
from mpslint.checks._named_devices import names_device
from mpslint.program.platform import load_platform
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the first move of each `if` that a Mac passes over.

    Options: `models`, what models are called, where they are assigned anew; `unmoved`, those of them that no Trainer or Accelerator moves;
    `others`, what modules are called that are no models.
    """
    # A Trainer or an Accelerator moves the model afterwards.
    models = re.compile(options["unmoved" if evidence.has_device_chooser else "models"], re.IGNORECASE)
    others = re.compile(options["others"], re.IGNORECASE)
    for choice in evidence.facts.choices:
        node = choice.node
        if not isinstance(node, ast.If) or choice.source not in load_platform().cuda_questions:
            continue
        taken, other = (node.body, node.orelse) if choice.answer else (node.orelse, node.body)
        moves = filter(None, (_move(statement, models, evidence.has_device_chooser) for statement in other))
        move = next((one for one in moves if not others.search(_owner(one))), None)
        if move is not None and not _places(taken):
            values = {"written": ast.unparse(move)}
            yield Match(evidence.span_of(move), values, context=choice.context, node=move)


def _move(statement: ast.stmt, models: re.Pattern[str], only_named: bool) -> ast.Call | None:
    """Return the call that moves a model to CUDA: a module moves in place, or is assigned to its own name."""
    if not isinstance(statement, (ast.Expr, ast.Assign)) or not isinstance(statement.value, ast.Call):
        return None
    call = statement.value
    if not isinstance(call.func, ast.Attribute) or not _goes_to_cuda(call, call.func.attr):
        return None
    if isinstance(statement, ast.Expr):
        return call if models.search(ast.unparse(call.func.value)) or (call.func.attr == "cuda" and not only_named) else None
    target, moved = ast.unparse(statement.targets[0]), ast.unparse(call.func.value)
    return call if target == moved and models.search(target) else None


def _owner(move: ast.Call) -> str:
    """Return the last name of what a call moves."""
    return plain_text(move.func).rpartition(".")[0].rpartition(".")[2]


def _goes_to_cuda(call: ast.Call, method: str) -> bool:
    """Return whether a call is `.cuda()`, or `.to("cuda")` with nothing else."""
    return method == "cuda" or (method == "to" and len(call.args) == 1 and not call.keywords and names_device(call.args[0], "cuda"))


def _places(block: Sequence[ast.stmt]) -> bool:
    """Return whether a block puts anything on a device."""
    calls = (node for statement in block for node in ast.walk(statement) if isinstance(node, ast.Call))
    return any(isinstance(call.func, ast.Attribute) and call.func.attr == "to" for call in calls)
