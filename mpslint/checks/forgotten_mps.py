"""A choice of device that knows CUDA and the CPU only: `"cuda" if torch.cuda.is_available() else "cpu"`, as expression or statement."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mpslint.finding import Edit, Span
from mpslint.judge import Match
from mpslint.knowledge import platform_data
from mpslint.program.facts import Choice
from mpslint.program.platform import load_platform
from mpslint.program.walk import walk
from mpslint.settings.evidence import Evidence
from mpslint.settings.spell import Written
from mpslint.words import quoted

WORDS = ("cuda",)
"""One of these stands in every function in which it finds something."""


def ways(options: Mapping[str, Any]) -> Iterator[tuple[Iterable[str], ...]]:
    """Yield what stands in every such file: a question for CUDA, and the names of both devices."""
    yield load_platform().cuda_questions, [quoted("cuda")], [quoted("cpu")]


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each choice between CUDA and the CPU, at the `"cpu"` that the Mac gets."""
    for choice in evidence.facts.choices:
        if choice.source not in load_platform().cuda_questions or isinstance(choice.node, ast.Assert):
            continue
        cpu = _of_expression(choice.node, choice) if isinstance(choice.node, ast.IfExp) else _of_statement(choice.node, choice, evidence)
        if cpu is not None and _is_used(choice.node, evidence):
            shown = cpu if isinstance(choice.node, ast.IfExp) else choice.node.test
            span = evidence.span_of(choice.node if isinstance(choice.node, ast.IfExp) else shown)
            values = {"value": "cpu", "written": evidence.document.text[span.start : span.end], "cpu": cpu}
            yield Match(span, values, context=choice.context, node=choice.node)


def _is_used(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a program does more with the name of a device than to show it; of a module to import that is not known."""
    parent = evidence.parents.get(node)
    while isinstance(parent, ast.Call):
        parent = evidence.parents.get(parent)
    target = parent.targets[0] if isinstance(parent, ast.Assign) else None
    if not isinstance(target, ast.Name) or not evidence.is_program:
        return True
    named = (n for n in evidence.nodes_beside(target.id) if isinstance(n, ast.Name) and n.id == target.id)
    loads = (n for n in named if isinstance(n.ctx, ast.Load))
    return any(not _is_shown(load, evidence) for load in loads)


def _is_shown(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether an expression is only printed, or stands at the end of a cell."""
    above = evidence.parents.get(node)
    while isinstance(above, (ast.FormattedValue, ast.JoinedStr)):
        above = evidence.parents.get(above)
    return isinstance(above, ast.Expr) or (isinstance(above, ast.Call) and ast.unparse(above.func) == "print")


def _of_expression(node: ast.IfExp, choice: Choice) -> ast.expr | None:
    taken, other = (node.body, node.orelse) if choice.answer else (node.orelse, node.body)
    return taken if _names(taken, "cpu") and _names(other, "cuda") else None


def _of_statement(node: ast.If, choice: Choice, evidence: Evidence) -> ast.stmt | None:
    """Return the assignment of the CPU, where an `if` assigns CUDA to the same name."""
    taken, other = (node.body, node.orelse) if choice.answer else (node.orelse, node.body)
    cuda = _assignments(other, "cuda")
    if not taken:
        parent = evidence.parents.get(node)
        block: list[ast.stmt] = evidence.parsed.body if parent is None else getattr(parent, "body", [])
        taken = block[: block.index(node)] if node in block else []
    found = [statement for target, statement in _assignments(taken, "cpu").items() if target in cuda]
    return found[-1] if found else None


def _assignments(block: Sequence[ast.stmt], device: str) -> dict[str, ast.stmt]:
    """Return the assignments of a device in a block, by target."""
    found: dict[str, ast.stmt] = {}
    for statement in block:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and _names(statement.value, device):
            found[ast.unparse(statement.targets[0])] = statement
    return found


def _names(node: ast.expr, device: str) -> bool:
    """Return whether an expression is this device: its name, or `torch.device(name)`."""
    if isinstance(node, ast.Call) and node.args and ast.unparse(node.func) in platform_data("cuda")["devices"]["classes"]:
        node = node.args[0]
    if isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[0]
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.split(":")[0] == device


def rewrite(match: Match, evidence: Evidence) -> Written | None:
    """Return the edit that takes the Mac's GPU before it takes the CPU."""
    cpu = match.values["cpu"]
    if not isinstance(match.node, (ast.If, ast.IfExp)) or not _asks_plainly(match.node.test, evidence):
        return None
    span = evidence.span_of(cpu)
    mps = _as_mps(cpu, evidence)
    if mps is None:
        return None
    if isinstance(match.node, ast.IfExp):
        if cpu is not match.node.orelse:
            return None
        new = f"{mps} if {_question()} else {evidence.document.text[span.start : span.end]}"
        return Written((Edit(span, new),), f"... else {new}")
    return _elif(match.node, mps, evidence)


def _question() -> str:
    """Return the call that asks for the Mac's GPU."""
    return str(platform_data("cuda")["devices"]["asks_for_mps"])


def _asks_plainly(test: ast.expr, evidence: Evidence) -> bool:
    """Return whether a test is nothing but the question for CUDA, so that the Mac's GPU may take its place."""
    if isinstance(test, ast.UnaryOp):
        return _asks_plainly(test.operand, evidence)
    if not isinstance(test, ast.Name):
        return isinstance(test, ast.Call)
    given = [node.value for node in evidence.nodes_beside(test.id) if isinstance(node, ast.Assign) and _binds(node, test.id)]
    return bool(given) and all(isinstance(value, ast.Call) for value in given)


def _binds(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)


def _as_mps(node: ast.AST, evidence: Evidence) -> str | None:
    """Return the text of an expression or statement with "mps" for its "cpu"."""
    span = evidence.span_of(node)
    text = evidence.document.text[span.start : span.end]
    constants = [n for n in walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str) and n.value.split(":")[0] == "cpu"]
    if len(constants) != 1:
        return None
    inner = evidence.span_of(constants[0])
    old = text[inner.start - span.start : inner.end - span.start]
    return text[: inner.start - span.start] + old[0] + "mps" + old[-1] + text[inner.end - span.start :] if old[:1] in "\"'" else None


def _elif(node: ast.If, assignment: str, evidence: Evidence) -> Written | None:
    """Return the edit that adds an `elif` for the Mac's GPU after the block for CUDA."""
    document = evidence.document
    if isinstance(node.test, ast.UnaryOp) or "\n" in assignment or any(isinstance(statement, ast.If) for statement in node.orelse):
        return None
    last = node.body[-1].end_lineno or node.body[-1].lineno
    first = document.line_text(node.lineno)
    indent = first[: len(first) - len(first.lstrip())]
    inner = document.line_text(node.body[0].lineno)
    step = inner[: len(inner) - len(inner.lstrip())]
    if node.body[0].lineno == node.lineno or not first.lstrip().startswith("if"):
        return None
    newline = "\r\n" if "\r\n" in document.text else "\n"
    end = document.line_starts[last - 1] + len(document.line_text(last))
    text = f"{newline}{indent}elif {_question()}:{newline}{step}{assignment}"
    return Written((Edit(Span(end, end), text),), f"elif {_question()}: {assignment}")
