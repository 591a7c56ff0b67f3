"""How a choice of device that knows CUDA and the CPU only is written with the Mac's GPU."""

from __future__ import annotations

import ast
import re

from mpslint.core.finding import Edit
from mpslint.core.knowledge import platform_data
from mpslint.program.walk import walk
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.spelling import WrittenSetting, as_on

IS_OF_SEVERAL = re.compile(r"rank|world|dist|ddp|nccl|parallel")
"""A name that speaks of several processes, which a Mac's GPU does not serve."""

PLAIN_PLACES = (ast.keyword, ast.Call, ast.Assign, ast.AnnAssign, ast.Return, ast.Dict, ast.List, ast.Tuple, ast.arguments, ast.NamedExpr)
"""Where a conditional expression may stand without parentheses."""
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
    """Return the edit that takes the Mac's GPU, where there is one, in the place of the CPU."""
    if isinstance(match.node, ast.UnaryOp):
        new = f"({evidence.text_of(match.node.operand)} or {_question()})"
        return WrittenSetting((Edit(evidence.span_of(match.node.operand), new),), f"not {new}")
    cpu = match.values["cpu"]
    names, question = constants_of(cpu, "cpu"), _asked_instead(match.node, cpu, evidence)
    old = evidence.text_of(names[0]) if len(names) == 1 else ""
    if question is None or old[:1] not in ("'", '"') or (isinstance(match.node, (ast.If, ast.IfExp)) and match.values["named"]):
        return None  # whoever names the CPU means it on a Mac, too
    mps = f"{old[0]}mps{old[-1]}"
    new = f"{mps} if {question} else {old}"
    if isinstance(match.node, ast.IfExp) and as_on(evidence.target, new) == mps:
        short = evidence.text_of(cpu).replace(old, mps)
        return WrittenSetting((Edit(evidence.span_of(match.node), short),), short)
    parent = evidence.parents.get(names[0])
    is_last = isinstance(parent, ast.IfExp) and parent.orelse is names[0]
    new = new if is_last or isinstance(parent, PLAIN_PLACES) else f"({new})"
    return WrittenSetting((Edit(evidence.span_of(names[0]), new),), f"... else {new}" if is_last else new)


def _asked_instead(node: ast.AST | None, cpu: ast.AST, evidence: Evidence) -> str | None:
    """Return what asks for the Mac's GPU where a choice came to the CPU; None where the choice is of something else, too."""
    if isinstance(node, ast.If):
        is_asked = _asks_plainly(node.test, evidence) or asks_in_vain(node.test)
        return _question() if isinstance(cpu, PLACING) and is_asked else None
    if isinstance(node, ast.IfExp) and cpu is node.orelse:
        return _same_question(node.test, evidence)
    is_negated = isinstance(node, ast.IfExp) and isinstance(node.test, ast.UnaryOp) and is_question(node.test.operand)
    return _question() if is_negated or isinstance(node, (ast.BoolOp, ast.Subscript)) else None


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
