"""A base class that runs a model which only its subclasses, in files that nothing here starts, make: `self.model(x.to(self.device))`.

Whether they move it to the same device can't be seen, and a device that only one of them takes makes the run raise.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._models import plain_text
from mpslint.program.walk import walk
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

GATE = Gate(words=("cuda",), may_find=lambda document, options, target: "self." in document.text and ".to(" in document.text)


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each call of an attribute that nothing in the run gives a value, in a class that moves tensors to a device of its own."""
    whole = evidence.whole or evidence
    if "setattr(" in whole.text or "__dict__" in whole.text:
        return
    given = {plain_text(target).rpartition(".")[2] for one in whole.parsed.body for node in walk(one) for target in _given(node)}
    for owner in (one for one in whole.parsed.body if isinstance(one, ast.ClassDef) and _has_no_base(one)):
        nodes = list(walk(owner))
        defined = {one.name for one in nodes if isinstance(one, ast.FunctionDef)}
        calls = [one for one in nodes if isinstance(one, ast.Call)]
        if not any(
            isinstance(one.func, ast.Attribute) and one.func.attr == "to" and "self.device" in map(plain_text, one.args) for one in calls
        ):
            continue
        for call in calls:
            name = plain_text(call.func)
            if name.startswith("self.") and name.count(".") == 1 and name[5:] not in given | defined:
                yield Match(whole.span_of(call), {"written": name}, node=call)


def _given(node: ast.AST) -> list[ast.expr]:
    """Return what a statement gives a value that isn't None."""
    if not isinstance(node, (ast.Assign, ast.AnnAssign)) or (isinstance(node.value, ast.Constant) and node.value.value is None):
        return []
    return [part for target in (node.targets if isinstance(node, ast.Assign) else [node.target]) for part in _parts(target)]


def _parts(target: ast.expr) -> list[ast.expr]:
    return target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]


def _has_no_base(owner: ast.ClassDef) -> bool:
    """Return whether nothing but its subclasses can give objects of a class what it lacks."""
    return all(plain_text(base) in ("object", "ABC", "abc.ABC") for base in owner.bases)
