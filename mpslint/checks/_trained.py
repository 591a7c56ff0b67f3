"""Which of a program's models are trained: those that its Trainers and optimizers are given, where that is known of all of them."""

from __future__ import annotations

from mpslint.facts.values import Call
from mpslint.settings.evidence import Evidence
from mpslint.settings.gather import behind, only_evaluates
from mpslint.settings.roles import load_roles
from mpslint.settings.translate import bound_arguments

TAKES_MODEL = {"optimizer": "params"}
"""The argument by which a call of a role is given what it trains, where it is not `model`."""


def is_only_run(call: Call, evidence: Evidence) -> bool:
    """Return whether a call makes a model that the program only runs, while it is known to train others."""
    if "trained models" not in evidence.memo:
        evidence.memo["trained models"] = _trained(evidence)
    trained = evidence.memo["trained models"]
    made = evidence.file_plans.by_result.get(id(call.result)) if call.result is not None else None
    return trained is not None and made is not None and id(made) not in trained


def _trained(evidence: Evidence) -> frozenset[int] | None:
    """Return the loaded models that are trained; None where a Trainer, an optimizer or a loop trains something that isn't known."""
    found: set[int] = set()
    plans = evidence.file_plans
    trainers = [m for m in plans.matched if m.pattern.role == "optimizer" or m.pattern.role in load_roles().trains]
    if not any(m.pattern.role == "optimizer" for m in trainers) and any(call.method == "backward" for call in evidence.facts.calls):
        return None
    for run in trainers:
        if only_evaluates(run, evidence.facts):
            continue
        given = bound_arguments(run.call, run.pattern).get(TAKES_MODEL.get(run.pattern.role, "model"))
        models = [part for part in behind(given.value, plans.by_result) if part.pattern.role == "model"] if given is not None else []
        if not models:
            return None
        found |= {id(model) for model in models}
    return frozenset(found) if found else None
