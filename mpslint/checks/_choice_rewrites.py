"""How a choice of device that knows CUDA and the CPU only is written with the Mac's GPU."""

from __future__ import annotations

import ast
import re

from mpslint.core.finding import Edit
from mpslint.core.knowledge import platform_data
from mpslint.program.walk import walk
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.short import as_on
from mpslint.settings.spelling import WrittenSetting

IS_OF_SEVERAL = re.compile(r"rank|world|dist|ddp|nccl|parallel")
"""A name that speaks of several processes, which a Mac's GPU does not serve."""

PLACING = (ast.Assign, ast.AnnAssign, ast.Return)
"""What gives a device its name."""


def is_question(node: ast.expr) -> bool:
    """Return whether an expression asks for CUDA."""
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith("cuda.is_available")


def asks_in_vain(test: ast.expr) -> bool:
    """Return whether a test is `device == "cuda" and not torch.cuda.is_available()`, in any order."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else []
    absent = [part for part in parts if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not) and is_question(part.operand)]
    return len(parts) == 2 and len(absent) == 1


def rewrite(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edit that takes the Mac's GPU before it takes the CPU."""
    if isinstance(match.node, ast.UnaryOp):
        new = f"({evidence.text_of(match.node.operand)} or {_question()})"
        return WrittenSetting((Edit(evidence.span_of(match.node.operand), new),), f"not {new}")
    cpu = match.values["cpu"]
    if isinstance(match.node, (ast.BoolOp, ast.Subscript)) and (device := _as_mps(cpu, evidence)) is not None:
        span, old = evidence.span_of(cpu), evidence.text_of(cpu)
        new = f"{_question()} and {device} or {old}" if isinstance(match.node, ast.BoolOp) else f"{device} if {_question()} else {old}"
        return WrittenSetting((Edit(span, new),), new)
    if not isinstance(match.node, (ast.If, ast.IfExp)) or (isinstance(match.node, ast.If) and not isinstance(cpu, PLACING)):
        return None
    if match.values["named"]:
        return None  # whoever names the CPU means it on a Mac, too
    span = evidence.span_of(cpu)
    mps = _as_mps(cpu, evidence)
    if isinstance(match.node, ast.IfExp):
        question = _same_question(match.node.test, evidence)
        if mps is not None and cpu is match.node.body and isinstance(match.node.test, ast.UnaryOp) and is_question(match.node.test.operand):
            new = f"({mps} if {_question()} else {evidence.document.text[span.start : span.end]})"
            return WrittenSetting((Edit(span, new),), new)
        if mps is None or question is None or cpu is not match.node.orelse:
            return None
        new = f"{mps} if {question} else {evidence.document.text[span.start : span.end]}"
        if question == _question() and (short := as_on(evidence.target, new)) != new:
            return WrittenSetting((Edit(evidence.span_of(match.node), short),), short)
        return WrittenSetting((Edit(span, new),), f"... else {new}")
    if mps is None or not (_asks_plainly(match.node.test, evidence) or asks_in_vain(match.node.test)):
        return None
    return _in_place(cpu, evidence)


def _same_question(test: ast.expr, evidence: Evidence) -> str | None:
    """Return a test with the Mac's GPU in CUDA's place; None where it asks for more than that and an option of the program."""
    if _asks_plainly(test, evidence):
        return _question()
    if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.And):
        return None
    asked = [part for part in test.values if is_question(part)]
    if len(asked) != 1 or not all(part is asked[0] or _is_option(part) for part in test.values):
        return None
    whole, part = evidence.span_of(test), evidence.span_of(asked[0])
    text = evidence.document.text
    return f"{text[whole.start : part.start]}{_question()}{text[part.end : whole.end]}"


def _is_option(node: ast.expr) -> bool:
    """Return whether an expression is a switch, by its name (`args.use_gpu`, `not force_cpu`), and not one of several processes."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node = node.operand
    return isinstance(node, (ast.Name, ast.Attribute)) and not IS_OF_SEVERAL.search(ast.unparse(node))


def _in_place(assignment: ast.stmt, evidence: Evidence) -> WrittenSetting | None:
    """Return the edit that assigns the Mac's GPU, where there is one, in place of the CPU."""
    cpu = constants_of(assignment, "cpu")[0]
    old = evidence.text_of(cpu)
    new = f"{old[0]}mps{old[-1]} if {_question()} else {old}"
    return WrittenSetting((Edit(evidence.span_of(cpu), new),), new)


def constants_of(node: ast.AST, device: str) -> list[ast.Constant]:
    """Return the constants in a node that are the name of a device."""
    return [n for n in walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str) and n.value.split(":")[0] == device]


def _question() -> str:
    """Return the call that asks for the Mac's GPU."""
    return str(platform_data("cuda")["devices"]["asks_for_mps"])


def _asks_plainly(test: ast.expr, evidence: Evidence) -> bool:
    """Return whether a test is nothing but the question for CUDA, so that the Mac's GPU may take its place."""
    if isinstance(test, ast.UnaryOp):
        return _asks_plainly(test.operand, evidence)
    if not isinstance(test, ast.Name):
        return isinstance(test, ast.Call)
    above = ((evidence.parents.get(node), node) for node in evidence.naming(test.id))
    given = [one.value for one, node in above if isinstance(one, ast.Assign) and node in one.targets]
    return bool(given) and all(isinstance(value, ast.Call) for value in given)


def _as_mps(node: ast.AST, evidence: Evidence) -> str | None:
    """Return the text of an expression or statement with "mps" for its "cpu"."""
    span, text = evidence.span_of(node), evidence.text_of(node)
    constants = constants_of(node, "cpu")
    if len(constants) != 1:
        return None
    inner = evidence.span_of(constants[0])
    old = text[inner.start - span.start : inner.end - span.start]
    return text[: inner.start - span.start] + old[0] + "mps" + old[-1] + text[inner.end - span.start :] if old[:1] in "\"'" else None
