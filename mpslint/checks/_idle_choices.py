"""Choices of a device that decide nothing on a Mac: where a run is put is known from elsewhere, or stays what it was."""

from __future__ import annotations

import ast

from mpslint.checks._moved_by_trainer import is_overruled
from mpslint.checks._uses import is_never_taken, is_used, uses_of
from mpslint.facts.values import Instance, Items, Mapping, Value
from mpslint.rule.loops import called_name
from mpslint.settings.evidence import Evidence

RUNS = frozenset({"eval", "train", "to", "cuda", "forward", "parameters", "generate", "half", "float"})
"""Methods of a model, which a dict of tensors has not."""


def is_idle(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a choice, or the statement that makes it, is of no use for where anything of the program is put."""
    if not is_used(node, evidence) or is_overruled(node, evidence):
        return True
    return is_never_taken(node, evidence) or _is_of_states(node, evidence)


def _is_of_states(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a device is only where weights lie until a model copies them: `load_state_dict(torch.load(path, device))`."""
    whole = evidence.whole or evidence
    loads = [_mapped_by(use, whole) for use in uses_of(node, evidence) or ()]
    return bool(loads) and all(load is not None and _goes_to_states(load, whole) for load in loads)


def _mapped_by(use: ast.AST, evidence: Evidence) -> ast.Call | None:
    """Return the call that loads a file and is given a device for what it holds: `torch.load(path, map_location=device)`; or None."""
    above = evidence.parents.get(use)
    call = evidence.parents.get(above) if isinstance(above, ast.keyword) and above.arg == "map_location" else above
    is_second = isinstance(call, ast.Call) and len(call.args) > 1 and call.args[1] is use
    is_mapped = isinstance(call, ast.Call) and called_name(call) == "load" and (is_second or isinstance(above, ast.keyword))
    return call if is_mapped and isinstance(call, ast.Call) else None


def _goes_to_states(load: ast.Call, evidence: Evidence) -> bool:
    """Return whether what is loaded is a dict of weights that a model takes over, and no model itself."""
    taken = False
    for call in evidence.facts.calls:
        if isinstance(call.receiver, Instance) and call.receiver.call is not None and call.receiver.call.node is load:
            if call.method in RUNS or not call.method:
                return False
        elif call.method == "load_state_dict" and any(_is_of(one.value, load) for one in call.arguments):
            if "assign" in call.keywords:
                return False  # a model takes the tensors themselves, with their device
            taken = True
    return taken


def _is_of(value: Value, load: ast.Call) -> bool:
    """Return whether a value is what a call loads, or in it."""
    if isinstance(value, (Items, Mapping)):
        return any(_is_of(getattr(one, "value", one), load) for one in value.slots.values())
    while isinstance(value, Instance):
        if value.call is not None and value.call.node is load:
            return True
        if value.owner is None:
            return False
        value = value.owner
    return False
