"""Choices of a device that decide nothing on a Mac: where a run is put is known from elsewhere, or stays what it was."""

from __future__ import annotations

import ast

from mpslint.checks._uses import FUNCTIONS, call_given, is_never_taken, is_used, uses_of
from mpslint.facts.values import Function, Instance, Items, Mapping, Value, alternatives_of, made_from
from mpslint.settings.evidence import Evidence
from mpslint.settings.translate import bound_arguments


def is_idle(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a choice, or the statement that makes it, is of no use for where anything of the program is put."""
    if not is_used(node, evidence) or _is_moved_again(node, evidence):
        return True
    return is_never_taken(node, evidence) or _is_of_states(node, evidence)


def _is_moved_again(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a device is only where models, and the batches that are made for them, wait for a Trainer, which moves both itself."""
    whole = evidence.whole or evidence
    uses = uses_of(node, evidence)
    trainers = [one for one in whole.file_plans.matched if one.pattern.role == "trainer"] if uses else []
    given = [bound_arguments(one.call, one.pattern) for one in trainers]
    models = {id(one) for said in given if "model" in said for one in made_from(said["model"].value)}
    collating = (one for said in given if "data_collator" in said for one in alternatives_of(said["data_collator"].value))
    collators = {one.node for one in collating if isinstance(one, Function)}
    moves = {id(call.node): call.receiver for call in whole.facts.calls if call.method == "to"}
    others = [use for use in uses or () if whole.above(use, FUNCTIONS) not in collators]
    return bool(uses and models) and all(id(moves.get(id(call_given(use, whole)))) in models for use in others)


def _is_of_states(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a device is only where weights lie until a model copies them: `load_state_dict(torch.load(path, device))`."""
    whole = evidence.whole or evidence
    given = [(one.call.node, bound_arguments(one.call, one.pattern)) for one in whole.file_plans.matched if one.pattern.role == "load"]
    loads = {id(said["map_location"].node): load for load, said in given if "map_location" in said}
    uses = uses_of(node, evidence)
    return bool(uses) and all(id(use) in loads and _goes_to_states(loads[id(use)], whole) for use in uses or ())


def _goes_to_states(load: ast.Call, evidence: Evidence) -> bool:
    """Return whether what is loaded is a dict of weights that a model takes over with the device it has, and no model itself."""
    copied = False
    for call in evidence.facts.calls:
        made = call.receiver.call if isinstance(call.receiver, Instance) else None
        if made is not None and made.node is load and not hasattr(dict, call.method or "forward"):
            return False
        if call.method == "load_state_dict" and any(_is_of(one.value, load) for one in call.arguments):
            if "assign" in call.keywords:
                return False  # a model takes the tensors themselves, with their device
            copied = True
    return copied


def _is_of(value: Value, load: ast.Call) -> bool:
    """Return whether a value is what a call loads, or in it."""
    if isinstance(value, (Items, Mapping)):
        return any(_is_of(getattr(one, "value", one), load) for one in value.slots.values())
    made = isinstance(value, Instance) and value.call is not None and value.call.node is load
    return made or (isinstance(value, Instance) and value.owner is not None and _is_of(value.owner, load))
