"""A model whose own weights are float16 when a Trainer or an optimizer gets them. Inference in float16 is nobody's business here."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.core.finding import Edit, Span
from mpslint.facts.values import Call, Instance, Known, Value, alternatives_of, any_guard
from mpslint.facts.values import Mapping as DictValue
from mpslint.rule.guards import is_certain, is_off
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.families import load_families
from mpslint.settings.gather import only_evaluates
from mpslint.settings.plan import Matched
from mpslint.settings.roles import load_roles
from mpslint.settings.setting import Setting
from mpslint.settings.spelling import WrittenSetting
from mpslint.settings.translate import bound_arguments

WEIGHTS = "precision.weights"


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield what made the weights of a trained model float16, with the place that trains it.

    Options: `adapts`, the methods that give a model adapters, so that its own weights are not what is trained; `widens`, those that make
    its weights float32 again.
    """
    matched = {id(m.call): m for m in evidence.file_plans.matched}
    made = {id(m.call.result): m for m in evidence.file_plans.matched if m.pattern.role == "model" and m.call.result is not None}
    casts: dict[int, Setting] = {}
    adapted: set[int] = set()
    for call in evidence.facts.calls:
        found = matched.get(id(call))
        if isinstance(call.receiver, Instance):
            if call.method in options["adapts"] or call.method in options["widens"]:
                adapted.add(id(call.receiver))
            _note_cast(casts, call, found)
        for model in _trained(call, found, evidence):
            by_name = _arguments_of(call, found, evidence) if isinstance(model, Known) and isinstance(model.value, str) else None
            setting = casts.get(id(model)) or _loaded(made.get(id(model), by_name))
            if setting is None or setting.span is None or id(model) in adapted or not _is_half(setting):
                continue
            values = {"value": "float16", "written": evidence.document.text[setting.span.start : setting.span.end]}
            plan = next((plan for plan in evidence.plans if any(setting in found for found in plan.settings.values())), None)
            yield Match(setting.span, values, setting, setting.call, plan, setting.context, (), setting.node)


def _note_cast(casts: dict[int, Setting], call: Call, found: Matched | None) -> None:
    """Note the dtype that a cast gives to a model (`.half()`, `.float()`, `.to(torch.float16)`)."""
    if found is not None and not call.context.guards:
        setting = next((s for s in found.settings if s.name == WEIGHTS and s.is_known), None)
        if setting is not None:
            casts[id(call.receiver)] = setting


def _loaded(found: Matched | None) -> Setting | None:
    """Return the dtype in which a model was loaded; None for one whose weights are quantised."""
    if found is None or any(s.name == "model.bits" and s.is_written for s in found.settings):
        return None
    name = next((s for s in found.settings if s.name == "model.name" and s.is_known), None)
    if found.call.is_open or _is_quantised(found.call) or (name is not None and load_families().is_quantised(str(name.constant))):
        return None
    return next((s for s in found.settings if s.name == WEIGHTS and s.is_written), None)


def _is_quantised(call: Call) -> bool:
    """Return whether a call gets a configuration of quantised weights, by itself or in a mapping of arguments."""
    changed = call.result.slots.values() if call.result is not None else ()
    values = [*(argument.value for argument in call.keywords.values()), *changed]
    return "quantization_config" in call.keywords or any(isinstance(v, DictValue) and "quantization_config" in v.slots for v in values)


def _arguments_of(call: Call, found: Matched | None, evidence: Evidence) -> Matched | None:
    """Return the arguments of a Trainer, by which it loads a model that it is given by name."""
    given = bound_arguments(call, found.pattern).get("args") if found is not None else None
    return evidence.file_plans.by_result.get(id(given.value)) if given is not None else None


def _is_half(setting: Setting) -> bool:
    return setting.is_known and setting.constant == "float16"


def _trained(call: Call, found: Matched | None, evidence: Evidence) -> Iterator[Value]:
    """Yield the models whose own weights a call is given to train."""
    if found is None or only_evaluates(found, evidence.facts) or _evaluates_by_default(found, evidence):
        return
    arguments = bound_arguments(call, found.pattern)
    if found.pattern.role == "trainer" and "peft_config" not in arguments and "model" in arguments:
        yield from alternatives_of(arguments["model"].value)
    elif found.pattern.role == "optimizer" and "params" in arguments:
        for value in alternatives_of(arguments["params"].value):
            if isinstance(value, Instance) and value.name.endswith("parameters") and value.owner is not None:
                yield value.owner


def _evaluates_by_default(found: Matched, evidence: Evidence) -> bool:
    """Return whether a program trains with its Trainer only if an option is given, and evaluates without it (`if args.train: ...`)."""
    role = found.pattern.role
    if ("evaluates", role) not in evidence.memo:
        kind, calls = load_roles().kinds[role], evidence.facts.calls
        trains = any(call.method in kind.training and not any_guard(call.context.guards, "is off", is_off) for call in calls)
        evaluating = [call for call in calls if call.method in kind.evaluating and call.method not in kind.training]
        evidence.memo["evaluates", role] = set() if trains else {id(call.receiver) for call in evaluating if is_certain(call.context)}
    return id(found.call.result) in evidence.memo["evaluates", role]


def rewrite(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edit that takes a `.half()` away from the expression that it ends; None for anything else that makes weights float16."""
    call = match.call.node if match.call is not None and match.call.method == "half" else None
    parent = evidence.parents.get(call) if call is not None else None
    if call is None or not isinstance(call.func, ast.Attribute) or isinstance(parent, ast.Expr):
        return None
    receiver, whole = evidence.span_of(call.func.value), evidence.span_of(call)
    if isinstance(parent, ast.Assign) and ast.unparse(parent.targets[0]) == ast.unparse(call.func.value):
        return WrittenSetting((Edit(Span(whole.end - len("half()"), whole.end), "float()"),), ".float()")
    return WrittenSetting((Edit(Span(receiver.end, whole.end), ""),), "without .half()")
