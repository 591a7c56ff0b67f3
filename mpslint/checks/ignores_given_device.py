"""Functions that take the CPU in place of the device that they are given: `device if torch.cuda.is_available() else "cpu"`.

A caller that selects the Mac's GPU moves its inputs there, and the function leaves the model on the CPU.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._named_devices import is_cpu, names_device
from mpslint.checks._written import plain_text
from mpslint.core.knowledge import platform_data
from mpslint.program.walk import walk
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each place of a run at which a function passes over its parameter, whether or not something is seen to call it."""
    whole = evidence.whole or evidence
    for node in whole.nodes_beside("is_available"):
        if not isinstance(node, (ast.If, ast.IfExp)) or not _asks_for_cuda(node.test):
            continue
        function = whole.above(node, FUNCTIONS)
        given = ast.walk(function.args) if isinstance(function, FUNCTIONS) else ()
        if _passed_over(node) in [one.arg for one in given if isinstance(one, ast.arg)]:
            yield Match(whole.span_of(node), {"written": ast.unparse(node.test)}, node=node)


def _asks_for_cuda(test: ast.expr) -> bool:
    """Return whether a test is for CUDA, of any device: `device == "cuda" and not torch.cuda.is_available()` leaves others as they are."""
    named = any(isinstance(one, ast.expr) and names_device(one, "cuda") for one in walk(test))
    return not named and any(isinstance(one, ast.Call) and ast.unparse(one.func).endswith("cuda.is_available") for one in walk(test))


def _passed_over(node: ast.If | ast.IfExp) -> str:
    """Return the name in whose place a choice takes the CPU without CUDA; '' where it is no such choice."""
    if any(isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.Not) for one in walk(node.test)):
        return ""  # the fix of such a place takes the Mac's GPU for the CPU there
    if isinstance(node, ast.IfExp):
        return plain_text(_name_in(node.body)) if is_cpu(node.orelse) else ""
    kept = (one for one in node.orelse if isinstance(one, ast.Assign) and is_cpu(one.value))
    return next((plain_text(one.targets[0]) for one in kept), "")


def _name_in(node: ast.expr) -> ast.expr:
    """Return what a device is made of: `name` of `torch.device(name)`."""
    is_made = isinstance(node, ast.Call) and node.args and ast.unparse(node.func) in platform_data("cuda")["devices"]["classes"]
    return node.args[0] if is_made and isinstance(node, ast.Call) else node
