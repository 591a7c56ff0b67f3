"""What several checks need to know of a Trainer: the call that makes it, and the functions it is given."""

from __future__ import annotations

from mpslint.facts.values import Argument, Bound, Call, Function
from mpslint.settings.evidence import Evidence
from mpslint.settings.plan import TrainingPlan
from mpslint.settings.translate import bound_arguments


def trainer_of(plan: TrainingPlan) -> Call | None:
    """Return the call that makes a run's Trainer, or None."""
    return next(iter(plan.calls.get("trainer", ())), None)


def function_given(plan: TrainingPlan, name: str, evidence: Evidence) -> Function | None:
    """Return the function of the program that a run's Trainer is given under a name, or None."""
    trainer = trainer_of(plan)
    if trainer is None:
        return None
    pattern = next((matched.pattern for matched in evidence.file_plans.matched if matched.call is trainer), None)
    given: dict[str, Argument] = bound_arguments(trainer, pattern) if pattern is not None else trainer.keywords
    value = given[name].value if name in given else None
    function = value.function if isinstance(value, Bound) else value
    return function if isinstance(function, Function) else None
