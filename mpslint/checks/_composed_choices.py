"""Choices between CUDA and the CPU without an `if`: by `and` and `or` (`torch.cuda.is_available() and "cuda" or "cpu"`), or by the parts
of a list or dict (`["cpu", "cuda"][torch.cuda.is_available()]`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.checks._named_devices import is_cpu, is_cuda
from mpslint.core.finding import Edit
from mpslint.core.knowledge import platform_data
from mpslint.settings.evidence import Evidence
from mpslint.settings.spelling import WrittenSetting

NUMBERS = ("int", "bool")
"""What makes a number of an answer, so that it counts the parts of a list."""


def composed_choices(evidence: Evidence) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield each such choice of a program, with its part that the Mac gets."""
    for node in evidence.nodes_beside("cpu"):
        if isinstance(node, (ast.BoolOp, ast.Subscript)):
            question, cuda, cpu = _of_words(node) if isinstance(node, ast.BoolOp) else _of_parts(node)
            if (
                question is not None
                and cuda is not None
                and cpu is not None
                and _asks_for_cuda(question, evidence)
                and is_cuda(cuda)
                and is_cpu(cpu)
            ):
                yield node, cpu


def rewrite_composed(node: ast.expr, cpu: ast.expr, mps: str, evidence: Evidence) -> WrittenSetting:
    """Return the edit that takes the Mac's GPU, as it is to be written, before it takes the CPU."""
    span, asked = evidence.span_of(cpu), platform_data("cuda")["devices"]["asks_for_mps"]
    old = evidence.document.text[span.start : span.end]
    new = f"{asked} and {mps} or {old}" if isinstance(node, ast.BoolOp) else f"{mps} if {asked} else {old}"
    return WrittenSetting((Edit(span, new),), new)


def _of_words(node: ast.BoolOp) -> tuple[ast.expr | None, ast.expr | None, ast.expr | None]:
    """Return question, CUDA and CPU of `question and cuda or cpu`."""
    first = node.values[0]
    if len(node.values) != 2 or not isinstance(node.op, ast.Or) or not isinstance(first, ast.BoolOp) or len(first.values) != 2:
        return None, None, None
    return first.values[0], first.values[1], node.values[1]


def _of_parts(node: ast.Subscript) -> tuple[ast.expr | None, ast.expr | None, ast.expr | None]:
    """Return question, CUDA and CPU of `[cpu, cuda][question]` and `{True: cuda, False: cpu}[question]`."""
    held = node.value
    if isinstance(held, (ast.List, ast.Tuple)) and len(held.elts) == 2:
        return node.slice, held.elts[1], held.elts[0]
    if not isinstance(held, ast.Dict) or len(held.keys) != 2:
        return None, None, None
    found = {key.value: value for key, value in zip(held.keys, held.values, strict=True) if isinstance(key, ast.Constant)}
    return node.slice, found.get(True), found.get(False)


def _asks_for_cuda(node: ast.expr, evidence: Evidence) -> bool:
    """Return whether an expression is the question for CUDA, or a name of its answer."""
    if isinstance(node, ast.Name):
        statements = (one for one in evidence.nodes_beside(node.id) if isinstance(one, ast.Assign))
        given = [one.value for one in statements if node.id in [ast.unparse(target) for target in one.targets]]
        return bool(given) and all(not isinstance(one, ast.Name) and _asks_for_cuda(one, evidence) for one in given)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NUMBERS and len(node.args) == 1:
        node = node.args[0]
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith("cuda.is_available")
