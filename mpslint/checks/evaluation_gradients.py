"""Loops that run a model in evaluation mode with autograd on."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mpslint.checks._gradients import switches_off, switches_off_for_good
from mpslint.checks._models import called_model, calls_of, is_frozen, plain_text
from mpslint.checks._shared_loops import TAKES_GRADIENTS, calls_backward, evaluates_without_backward
from mpslint.facts.values import Context, FunctionNode
from mpslint.program.walk import children, walk
from mpslint.rule.autograd import has_gradients
from mpslint.rule.judge import Match
from mpslint.rule.loops import called_name
from mpslint.settings.evidence import Evidence

BACKWARD = "backward"
WANTS_GRADIENTS = (BACKWARD, "autograd.grad", "requires_grad", "functional.jacobian")
"""Words of code that takes gradients on purpose."""


_Switch = tuple[int, int, str, str]


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the calls of models that keep a graph for an evaluation that never uses it."""
    known: dict[int, list[_Switch]] = {}
    for loop, _, context in evidence.facts.loops:
        if not isinstance(loop, (ast.For, ast.AsyncFor)) or not has_gradients(context) or not context.called:
            continue
        if isinstance(loop.body[-1], (ast.Break, ast.Return)):
            continue  # one pass
        source = evidence.text_of(loop)
        if any(word in source for word in WANTS_GRADIENTS if word != BACKWARD):
            continue
        is_shared = BACKWARD in source
        if calls_backward(loop, evidence) or (is_shared and not evaluates_without_backward(loop, context, evidence)):
            continue
        if switches_off_for_good(evidence) or is_frozen(evidence):  # looks at the whole program, so it is asked last
            return
        scope = _scope(context, evidence)
        if id(scope) not in known:
            known[id(scope)] = _switches(scope, evidence)
        models = _in_evaluation_mode(known[id(scope)], loop.lineno + 1)
        if context.functions and not known[id(scope)]:
            models = _evaluated_by_call(context, evidence)
            models = models if is_shared else models | _evaluated_by_callers(context.functions[-1], evidence)
        skipped = _training_branches(loop) if is_shared else frozenset()
        call = next((node for node in _forwards(loop, skipped) if called_model(node, models, evidence)), None) if models else None
        if call is None:
            continue
        place: ast.AST = call
        values = {"written": ast.unparse(call.func), "model": called_model(call, models, evidence), "loop": "this loop"}
        if is_shared and isinstance(context.functions[-1], (ast.FunctionDef, ast.AsyncFunctionDef)) and context.calls[-1] is not None:
            place, values["loop"] = context.calls[-1], f"the loop in `{context.functions[-1].name}`"
        yield Match(evidence.span_of(place), values, context=context, node=place)


def _scope(context: Context, evidence: Evidence) -> Sequence[ast.stmt]:
    function: FunctionNode | None = context.functions[-1] if context.functions else None
    return function.body if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) else evidence.parsed.body


def _switches(scope: Sequence[ast.stmt], evidence: Evidence) -> list[_Switch]:
    """Return (line, column, name, mode) for each `eval()` and `train()` of a name, by line; none where nothing is evaluated."""
    key = f"switches in {id(scope)}"  # each call of a helper asks about the function that it stands in
    if key not in evidence.memo:
        found = sorted(_switches_to("eval", scope, evidence))
        evidence.memo[key] = scope, sorted([*found, *_switches_to("train", scope, evidence)]) if found else []
    switches: list[_Switch] = evidence.memo[key][1]
    return switches


def _switches_to(mode: str, scope: Sequence[ast.stmt], evidence: Evidence) -> list[_Switch]:
    return [
        (node.lineno, node.col_offset, text, mode)
        for node in evidence.nodes_beside(mode, scope)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == mode
        if (text := plain_text(node.func.value))
    ]


def _in_evaluation_mode(switches: Sequence[_Switch], line: int) -> set[str]:
    """Return the names on which `eval()` was called last, rather than `train()`, up to a line."""
    modes = {name: mode for before, _, name, mode in switches if before <= line}
    return {name for name, mode in modes.items() if mode == "eval"}


def _evaluated_by_callers(function: FunctionNode, evidence: Evidence) -> set[str]:
    """Return the parameters of a function that get a model which its caller has put into evaluation mode, with autograd on."""
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return set()
    parameters = [parameter.arg for parameter in function.args.args if parameter.arg not in ("self", "cls")]
    found: set[str] = set()
    for call in calls_of(function, evidence):
        above = evidence.above(call, (ast.FunctionDef, ast.AsyncFunctionDef))
        body = above.body if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)) else evidence.parsed.body
        evaluated = _in_evaluation_mode(_switches(body, evidence), call.lineno)
        given = [*zip(parameters, call.args, strict=False), *((keyword.arg, keyword.value) for keyword in call.keywords)]
        found |= {name for name, value in given if name is not None and plain_text(value) in evaluated}
    return found


def _evaluated_by_call(context: Context, evidence: Evidence) -> set[str]:
    """Return what the call by which a function was entered has put into evaluation mode and the function names alike: its parameters,
    attributes of the object whose method both are, and names of the module."""
    function, call = context.functions[-1], context.calls[-1]
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or not isinstance(call, ast.Call):
        return set()
    above = evidence.above(call, (ast.FunctionDef, ast.AsyncFunctionDef))
    body = above.body if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)) else evidence.parsed.body
    evaluated = _in_evaluation_mode(_switches(body, evidence), call.lineno)
    parameters = [parameter.arg for parameter in function.args.args]
    is_method = isinstance(call.func, ast.Attribute) and plain_text(call.func.value) == "self" and parameters[:1] == ["self"]
    given = [*zip(parameters[is_method:], call.args, strict=False), *((keyword.arg, keyword.value) for keyword in call.keywords)]
    passed = {name for name, value in given if name is not None and plain_text(value) in evaluated}
    return (
        passed
        | {name for name in evaluated if name.startswith("self.") and is_method}
        | {name for name in evaluated if above is None and name not in parameters}
    )


def _training_branches(loop: ast.For | ast.AsyncFor) -> frozenset[tuple[str, str]]:
    """Return (condition, branch) for each branch of a loop that takes gradients, and so for others with the same condition."""
    return frozenset(
        (ast.unparse(node.test), branch)
        for node in walk(loop)
        if isinstance(node, ast.If)
        for branch in ("body", "orelse")
        if any(called_name(inner) in TAKES_GRADIENTS for statement in getattr(node, branch) for inner in walk(statement))
    )


def _forwards(loop: ast.For | ast.AsyncFor, skipped: frozenset[tuple[str, str]]) -> Iterator[ast.Call]:
    """Yield the calls of a loop's body that no manager inside it takes autograd away from, but those in the branches to skip."""
    stack: list[ast.AST] = list(loop.body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)) or switches_off(node):
            continue
        if isinstance(node, ast.Call):
            yield node
        if skipped and isinstance(node, ast.If):
            condition = ast.unparse(node.test)
            branches = [getattr(node, branch) for branch in ("body", "orelse") if (condition, branch) not in skipped]
            stack += [node.test, *(statement for branch in branches for statement in branch)]
        else:
            stack += children(node)
