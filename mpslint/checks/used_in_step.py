"""Tensors that a step puts on the CPU of a program's own choice, while a Trainer moves the model: `x.to(device)` in `forward`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._device_uses import uses_of
from mpslint.checks._given import parameters
from mpslint.checks._models import plain_text
from mpslint.checks._named_devices import is_cpu
from mpslint.checks._questions import may_ask_for_cuda
from mpslint.checks.mixed_devices import MEETS
from mpslint.program.platform import load_platform
from mpslint.program.walk import walk
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.rule.loops import called_name
from mpslint.settings.evidence import Evidence

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
WEIGHTS = ("weight", "pos_weight")

GATE = Gate(words=("cuda",), may_find=lambda document, options, target: may_ask_for_cuda(document) and "class " in document.text)


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each use of a choice between CUDA and the CPU that moves what a step is given, or the weights of its loss.

    Options: `classes`, what a base of the class is called (a regular expression), `steps`, the methods that are given batches, and
    `losses`, those that compute a loss.
    """
    whole = evidence.whole or evidence
    bases = re.compile(options["classes"])
    for choice in whole.facts.choices:
        node = choice.node
        if choice.source not in load_platform().cuda_questions or not isinstance(node, ast.IfExp) or not is_cpu(node.orelse):
            continue
        for use in uses_of(node, whole, are_all=False) or ():
            moved = _moved(use, whole)
            step = _method(moved, bases, whole) if moved is not None else None
            if moved is None:
                continue
            is_input = step is not None and step.name in options["steps"] and _first_name(moved) in parameters(step)
            if is_input or _is_weight(moved, bases, options["losses"], whole):
                yield Match(whole.span_of(moved), {"written": ast.unparse(moved)}, context=choice.context, node=moved)


def _moved(use: ast.AST, evidence: Evidence) -> ast.Call | None:
    """Return the call that moves something to a device: `x.to(device)`, `torch.tensor(x, device=device)`."""
    above = evidence.parents.get(use)
    call = evidence.parents.get(above) if isinstance(above, ast.keyword) and above.arg == "device" else above
    is_made = isinstance(call, ast.Call) and plain_text(call.func).startswith("torch.") and call is not above
    return call if isinstance(call, ast.Call) and (called_name(call) == "to" or is_made) else None


def _method(node: ast.AST, bases: re.Pattern[str], evidence: Evidence) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return the method around a node, of a class with one of some bases."""
    function = evidence.above(node, FUNCTIONS)
    owner = evidence.parents.get(function) if function is not None else None
    is_own = isinstance(owner, ast.ClassDef) and any(bases.search(ast.unparse(base)) for base in owner.bases)
    return function if is_own and isinstance(function, FUNCTIONS) else None


def _first_name(moved: ast.Call) -> str:
    """Return the name of what is moved, or of what that is a part of: `batch` of `batch["labels"].to(device)`."""
    owner = moved.func.value if isinstance(moved.func, ast.Attribute) else moved
    while isinstance(owner, (ast.Subscript, ast.Attribute)):
        owner = owner.value
    return plain_text(owner)


def _is_weight(moved: ast.Call, bases: re.Pattern[str], losses: list[str], evidence: Evidence) -> bool:
    """Return whether a tensor of the whole program is the weight of a loss in a step, by its name or by an attribute that keeps it."""
    kept = evidence.above(moved, (ast.stmt,))
    if not isinstance(kept, ast.Assign) or evidence.above(kept, FUNCTIONS) is not None or not isinstance(kept.targets[0], ast.Name):
        return False
    name = kept.targets[0].id
    held = {name}
    for node in evidence.nodes_beside(name):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == name:
            held |= {plain_text(target) for target in node.targets}
    for word in WEIGHTS:
        for call in evidence.nodes_beside(word):
            if isinstance(call, ast.Call) and MEETS.search(called_name(call)):
                given = {plain_text(one.value) for one in call.keywords if one.arg in WEIGHTS}
                step = _method(call, bases, evidence)
                if step is not None and step.name in losses and given & (held - {""}) and not _moves(step, given):
                    return True
    return False


def _moves(step: ast.FunctionDef | ast.AsyncFunctionDef, names: set[str]) -> bool:
    """Return whether a method moves one of some names."""
    calls = (one for one in walk(step) if isinstance(one, ast.Call) and called_name(one) in ("to", "cuda", "type_as"))
    return any(isinstance(one.func, ast.Attribute) and plain_text(one.func.value) in names for one in calls)
