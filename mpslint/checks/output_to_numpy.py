"""Outputs of a model on the Mac's GPU that are given to NumPy, in files that never bring anything back to the CPU."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.facts.values import Call, Instance, Known
from mpslint.rule.check import Gate
from mpslint.rule.guards import is_certain
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

CONVERTS = re.compile(r"\)\s*(?:\.\w+(?:\(\w*\))?\s*)*\.numpy\(\)|\w\.numpy\(\)")
"""A tensor that becomes an array."""
BACK = re.compile(r"\.cpu\(|\.to\(\s*(?:device\s*=\s*)?(?:torch\.device\(\s*)?['\"]cpu|device_get|\.tolist\(")
"""What brings a tensor to the CPU: who writes it knows that it is needed."""
OUTPUT = re.compile(r"\.__call__((?:\.\w+)*)\.numpy$")
"""The output of a module, and the methods between it and NumPy."""


GATE = Gate(
    words=("numpy",),
    may_find=lambda document, options, target: (
        document.code_holds(".numpy(") and document.code_matches(CONVERTS) and not document.code_matches(BACK)
    ),
)


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the outputs of modules that become arrays. Option `passes`: methods between them that leave a tensor where it is."""
    if evidence.document.code_matches(BACK):
        return
    moved = _moved(evidence)
    for call in evidence.facts.calls:
        found = OUTPUT.search(call.name) if call.method == "numpy" and not call.arguments and is_certain(call.context) else None
        if found is None or not _is_moved(call, moved, evidence):
            continue
        if set(found.group(1).split(".")[1:]) <= set(options["passes"]):
            yield Match(evidence.span_of(call.node), {}, None, call, None, call.context, (), call.node)


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
