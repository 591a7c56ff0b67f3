"""Devices that only say where a model, or a batch, waits for a Trainer, which moves both to the Mac's GPU itself: `model.to(device)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mpslint.checks._uses import uses_of
from mpslint.checks._written import plain_text
from mpslint.rule.loops import called_name
from mpslint.settings.evidence import Evidence
from mpslint.settings.translate import bound_arguments

LOADS = re.compile(r"(?:^|_)(?:loader|dataloader|batches|iterator|iter|dl)\d*$|loader$", re.IGNORECASE)
"""A name of a loader."""
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef)
COLLATES = ("collate_fn", "data_collator")
"""The arguments that are given a function which makes batches."""
Place = tuple[str, ast.AST | None]
"""A name, and the function around it."""


def is_overruled(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a program puts nothing on a device but the models that its Trainers move afterwards."""
    whole = evidence.whole or evidence
    uses = uses_of(node, evidence)
    models = frozenset(_models(whole)) if uses else frozenset()
    if not uses or not models:
        return False
    collators = _collators(whole)
    others = [use for use in uses if _name_of(whole.above(use, SCOPES)) not in collators]
    return all((moved := _moved(use, whole)) is not None and moved in models for use in others)


def _collators(evidence: Evidence) -> frozenset[str]:
    """Return the names of the functions that make batches, which a Trainer moves again; nothing where the program takes batches itself."""
    if any(isinstance(node, ast.For) and _gives_batches(node) for node in evidence.nodes_beside("for")):
        return frozenset()
    given = (node for name in COLLATES for node in evidence.nodes_beside(name) if isinstance(node, ast.keyword) and node.arg == name)
    return frozenset(plain_text(node.value) for node in given) - {""}


def _gives_batches(loop: ast.For) -> bool:
    """Return whether a loop goes over a loader, counted and shown or not: `for i, (x, y) in enumerate(tqdm(train_loader))`."""
    node = loop.iter
    while isinstance(node, ast.Call) and node.args:
        node = node.args[0]
    return LOADS.search(plain_text(node)) is not None


def _name_of(function: ast.AST | None) -> str:
    return function.name if isinstance(function, SCOPES) else ""


def _models(evidence: Evidence) -> Iterator[Place]:
    """Yield the names of the models that Trainers are given, also before an adapter was put around them (`get_peft_model(model, ...)`)."""
    for one in evidence.file_plans.matched:
        given = bound_arguments(one.call, one.pattern).get("model") if one.pattern.role == "trainer" else None
        if given is None or not isinstance(given.node, (ast.Name, ast.Attribute)):
            continue
        yield (name := plain_text(given.node)), (scope := evidence.above(one.call.node, SCOPES))
        for node in evidence.nodes_beside(name):
            is_made = isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and name in map(plain_text, node.targets)
            if is_made and isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and evidence.above(node, SCOPES) is scope:
                yield from ((plain_text(wrapped), scope) for wrapped in node.value.args if isinstance(wrapped, ast.Name))


def _moved(use: ast.AST, evidence: Evidence) -> Place | None:
    """Return the name of what a device is used for: `model.to(device)`, also on the right of `model = ...`; None for any other use."""
    call = evidence.parents.get(use)
    call = evidence.parents.get(call) if isinstance(call, ast.keyword) and call.arg == "device" else call
    if not isinstance(call, ast.Call) or called_name(call) != "to" or not isinstance(call.func, ast.Attribute):
        return None
    above = evidence.parents.get(call)
    scope = evidence.above(call, SCOPES)
    if isinstance(above, ast.Assign) and len(above.targets) == 1:
        return plain_text(above.targets[0]), scope
    return (plain_text(call.func.value), scope) if isinstance(above, ast.Expr) else None
