"""Which models a program trains: those that its Trainers and optimizers are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.facts.values import Argument, Call, Instance, Known, Value, alternatives_of, any_guard
from mpslint.facts.values import Mapping as DictValue
from mpslint.rule.guards import is_certain, is_off
from mpslint.settings import families
from mpslint.settings.evidence import Evidence, once
from mpslint.settings.gather import behind, only_evaluates
from mpslint.settings.plan import Matched
from mpslint.settings.roles import load_roles, roles_that
from mpslint.settings.setting import Setting
from mpslint.settings.translate import bound_arguments
from mpslint.tensors.traits import DTYPE, EACH, GRAPH, dtype_of, joined_trait, trait

TAKES_MODEL = {"optimizer": "params"}
"""The argument by which a call of a role is given what it trains, where it is not `model`."""
CONFIGURED = "quantization_config"
"""The argument that says how weights are quantised."""


def is_only_run(call: Call, evidence: Evidence) -> bool:
    """Return whether a call makes a model that the program only runs, while it is known to train others."""
    trained = _trained(evidence)
    made = evidence.file_plans.by_result.get(id(call.result)) if call.result is not None else None
    return trained is not None and made is not None and id(made) not in trained


@once
def _trained(evidence: Evidence) -> frozenset[int] | None:
    """Return the loaded models that are trained; None where a Trainer, an optimizer or a loop trains something that isn't known."""
    found: set[int] = set()
    plans = evidence.file_plans
    if not any(m.pattern.role == "optimizer" for m in plans.matched) and any(call.method == "backward" for call in evidence.facts.calls):
        return None
    for _, given, name in _trainings(evidence):
        model = given.get(name)
        models = [part for part in behind(model.value, plans.by_result) if part.pattern.role == "model"] if model is not None else []
        if not models:
            return None
        found |= {id(one) for one in models}
    return frozenset(found) if found else None


def _trainings(evidence: Evidence) -> Iterator[tuple[Matched, Mapping[str, Argument], str]]:
    """Yield each Trainer that may train, and each optimizer, what it is given, and the name of the argument that is what it trains."""
    for one in evidence.file_plans.matched:
        role = one.pattern.role
        if (role == "optimizer" or role in roles_that("trains")) and not only_evaluates(one, evidence.facts):
            yield one, bound_arguments(one.call, one.pattern), TAKES_MODEL.get(role, "model")


def is_trained_as(setting: Setting, evidence: Evidence, options: Mapping[str, Any]) -> bool:
    """Return whether weights have the dtype of which a setting speaks when a Trainer or an optimizer gets their model.

    Option `adapts` names the methods that give a model adapters, so that its own weights are not what is trained, and `recasts` those that
    give a part of it weights of another dtype, which may be what is trained; with `as_part` it is enough that a Trainer gets the model, or
    what is made of it.
    """
    call, order, by_result = setting.call, evidence.call_order, evidence.file_plans.by_result
    made = by_result.get(id(call.result)) if call is not None else None
    if call is None or (made is not None and is_quantised(made)):
        return False
    if options.get("as_part"):
        trainings = ((given.get(name), run.pattern.role) for run, given, name in _trainings(evidence))
        models = (model.value for model, role in trainings if model is not None and role == "trainer")
        return made is not None and any(part is made for model in models for part in behind(model, by_result))
    adapted = {id(one.receiver) for name in options.get("adapts", ()) for one in evidence.calls_of_method.get(name, ())}
    adapted |= {
        id(model)
        for name in options.get("recasts", ())
        for one in evidence.calls_of_method.get(name, ())
        if not one.given or any(dtype_of(argument) not in ("", setting.constant) for argument in one.given)
        for model in _owners(one.receiver)
    }
    for run, given, name in _trainings(evidence):
        if name not in given or "peft_config" in given or order[id(run.call)] < order[id(call)] or _evaluates_by_default(run, evidence):
            continue
        for value in alternatives_of(given[name].value):
            if isinstance(value, Known) and isinstance(value.value, str):  # a Trainer loads it by its name, as its arguments say
                if "args" in given and given["args"].value is call.result:
                    return True
                continue
            model = value.owner if isinstance(value, Instance) and EACH in value.slots else value
            whole = [model, *_owners(model)]
            is_own = any(one is call.result or one is call.receiver for one in whole) and adapted.isdisjoint(map(id, whole))
            if is_own and _has_dtype(value, setting):
                return True
    return False


def _owners(part: Value | None) -> Iterator[Value]:
    """Yield what a value is a part of, the nearest first."""
    while isinstance(part, Instance) and part.owner is not None:
        part = part.owner
        yield part


def _has_dtype(weights: Value, setting: Setting) -> bool:
    """Return whether the weights of a model, or the parameters that it gave, may be trained in the dtype that a setting says."""
    one = trait(weights, EACH) if isinstance(weights, Instance) and EACH in weights.slots else weights
    graph, dtypes = trait(weights, GRAPH), {dtype_of(kind) for kind in alternatives_of(joined_trait(one, DTYPE))}
    return dtypes <= {"", setting.constant} and not (isinstance(graph, Known) and not graph.value)


def is_quantised(made: Matched) -> bool:
    """Return whether a call loads quantised weights, as far as is seen: by their name, by their bits, or by a configuration of them."""
    said = {setting.name: setting for setting in made.settings if setting.is_written}
    name, bits = said.get("model.name"), said.get("model.bits")
    if bits is not None and not (bits.is_known and bits.constant is None):
        return True
    changed = made.call.result.slots.values() if made.call.result is not None else ()
    values = [*(argument.value for argument in made.call.keywords.values()), *changed]
    if CONFIGURED in made.call.keywords or any(isinstance(one, DictValue) and CONFIGURED in one.slots for one in values):
        return True
    return name is not None and name.is_known and families.is_quantised(str(name.constant))


def _evaluates_by_default(run: Matched, evidence: Evidence) -> bool:
    """Return whether a program trains with its Trainer only if an option is given, and evaluates without it (`if args.train: ...`)."""
    if run.pattern.role not in roles_that("trains"):
        return False
    calls = evidence.facts.calls
    trains, evaluates = (load_roles()[run.pattern.role].get(word, ()) for word in ("training", "evaluating"))
    if any(call.method in trains and not any_guard(call.context.guards, "is off", is_off) for call in calls):
        return False
    evaluating = (call for call in calls if call.method in evaluates and call.method not in trains)
    return any(call.receiver is run.call.result and is_certain(call.context) for call in evaluating)
