"""Tensors on the Mac's GPU that are given to NumPy: what the program moved there, and, in files that never bring anything back to the CPU,
outputs of a model there."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from mpslint.checks._placed import on_mps
from mpslint.facts.values import Call, Instance, Known
from mpslint.rule.check import Gate
from mpslint.rule.guards import is_certain
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

BACK = re.compile(r"\.cpu\(|\.to\(\s*(?:device\s*=\s*)?(?:torch\.device\(\s*)?['\"]cpu|device_get|\.tolist\(")
"""What brings a tensor to the CPU: who writes it knows that it is needed."""
OUTPUT = re.compile(r"\.__call__((?:\.\w+)*)\.numpy$")
"""The output of a module, and the methods between it and NumPy."""


GATE = Gate(
    words=("numpy", "array", "_score", "confusion_matrix", "classification_report"),
    may_find=lambda document, options, target: any(map(document.code_holds, (".numpy(", "array(", "_score(", "_matrix(", "_report("))),
)


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the tensors on the GPU that become arrays. Options: `passes`, methods after a model that leave a tensor where it is; `reads`,
    functions that read a tensor as an array."""
    is_back = evidence.document.code_matches(BACK)
    moved = _moved(evidence)
    for call in evidence.facts.calls:
        is_read = call.name in options["reads"]
        is_plain = call.method == "numpy" and not (call.node.args or call.node.keywords)  # `force=True` copies to the CPU
        if not (is_read or is_plain) or not is_certain(call.context):
            continue
        given = call.node.args if is_read else [call.node.func.value] if isinstance(call.node.func, ast.Attribute) else []
        use = f"{ast.unparse(call.node.func)}()" if is_read else ".numpy()"
        if is_plain and not is_back and _is_output(call, moved, evidence, options["passes"]):
            yield _match(call, "The model is on MPS, and so is its output", use, evidence)
        elif (tensor := next((one for one in given if on_mps(evidence).holds(one)), None)) is not None:
            yield _match(call, f"`{ast.unparse(tensor)}` is on MPS", use, evidence)


def _match(call: Call, what: str, use: str, evidence: Evidence) -> Match:
    return Match(evidence.span_of(call.node), {"what": what, "use": use}, None, call, None, call.context, (), call.node)


def _is_output(call: Call, moved: set[str], evidence: Evidence, passes: Collection[str]) -> bool:
    """Return whether a method is called on the output of a model on the GPU, with only such methods between them that leave it there."""
    found = OUTPUT.search(call.name)
    return found is not None and set(found.group(1).split(".")[1:]) <= set(passes) and _is_moved(call, moved, evidence)


def _moved(evidence: Evidence) -> set[str]:
    """Return the names of what is put on the Mac's GPU, as they are written: what a method moves, and what its result is bound to."""
    names = set()
    for matched in evidence.file_plans.matched:
        devices = {s.value.value for s in matched.settings if s.name == "device.name" and isinstance(s.value, Known)}
        node: ast.AST | None = matched.call.node
        if matched.pattern.role != "placement" or not any(str(device).startswith("mps") for device in devices):
            continue
        names.add(ast.unparse(matched.call.node.func.value) if isinstance(matched.call.node.func, ast.Attribute) else "")
        while isinstance(node, (ast.Call, ast.Attribute)):
            node = evidence.parents.get(node)
        if isinstance(node, ast.Assign):
            names |= {ast.unparse(target) for target in node.targets}
    return names


def _is_moved(call: Call, moved: set[str], evidence: Evidence) -> bool:
    """Return whether the module whose output a method is called on is one of those moved, or is part of a module of the program."""
    value = call.receiver
    while isinstance(value, Instance) and not value.name.endswith(".__call__"):
        value = value.owner
    if not isinstance(value, Instance) or value.call is None:
        return False
    node: ast.AST | None = value.call.node
    while node is not None and not isinstance(node, ast.FunctionDef):
        node = evidence.parents.get(node)
    is_part = isinstance(node, ast.FunctionDef) and node.name == "forward"
    return bool(moved) if is_part else ast.unparse(value.call.node.func) in moved
