"""Moves that only CUDA gets (`if torch.cuda.is_available(): x = x.cuda()`): what they leave on the CPU meets what goes to the Mac's GPU.

So do those that a flag of the program's own decides (`if args.cuda:`): it may be off, and a fix of other places doesn't ask it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mpslint.checks._questions import may_ask_for_cuda
from mpslint.program.platform import load_platform
from mpslint.program.walk import walk
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

IS_FLAG = re.compile(r"^(?!.*\.is_cuda\b).*(?:cuda|gpu)", re.IGNORECASE)
"""A test of a name of the program's own; not one of where a tensor is, which has a fix of its own."""

GATE = Gate(words=("cuda",), may_find=lambda document, options, target: may_ask_for_cuda(document))


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each move to CUDA that a Mac passes over, wherever in the run, unless the other branch moves something too."""
    for choice in evidence.facts.choices:
        if choice.source not in load_platform().cuda_questions or not isinstance(choice.node, (ast.If, ast.IfExp)):
            continue
        taken, other = (choice.node.body, choice.node.orelse) if choice.answer else (choice.node.orelse, choice.node.body)
        move = _left(other, taken)
        if move is not None:
            yield Match(evidence.span_of(move), {"written": ast.unparse(move)}, context=choice.context, node=move)
    whole = evidence.whole or evidence
    decided = {id(choice.node) for choice in whole.facts.choices}
    for node in whole.nodes_beside("cuda"):
        if isinstance(node, (ast.If, ast.IfExp)) and id(node) not in decided and IS_FLAG.search(ast.unparse(node.test)):
            move = _left(node.body, node.orelse) or _left(node.orelse, node.body)
            if move is not None:
                yield Match(whole.span_of(move), {"written": ast.unparse(move)}, node=move)


def _left(block: ast.expr | list[ast.stmt], other: ast.expr | list[ast.stmt]) -> ast.Call | None:
    """Return the first move to CUDA of a branch; None where the other branch moves something too."""
    move = next((call for call in _calls(block) if _is_move(call)), None)
    is_moved = any(_called(call) in ("to", "cuda") and not _is_to(call, _is_cpu) for call in _calls(other))
    return None if is_moved else move


def _calls(block: ast.expr | list[ast.stmt]) -> Iterator[ast.Call]:
    for part in block if isinstance(block, list) else [block]:
        yield from (node for node in walk(part) if isinstance(node, ast.Call))


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _is_move(call: ast.Call) -> bool:
    """Return whether a call moves a tensor or a module to CUDA: `x.cuda()`, `x.to("cuda:0")`."""
    return _called(call) == "cuda" or (_called(call) == "to" and _is_to(call, load_platform().is_absent_device))


def _is_to(call: ast.Call, is_meant: Callable[[Any], bool]) -> bool:
    """Return whether the call names a device that is meant."""
    given = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "device")]
    return any(isinstance(one, ast.Constant) and is_meant(one.value) for one in given)


def _is_cpu(device: Any) -> bool:
    return isinstance(device, str) and device.split(":")[0] == "cpu"
