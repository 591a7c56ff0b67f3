"""Inputs on the CPU for a model that a Trainer has moved to the GPU: `model(**tokenizer(text, return_tensors="pt"))` after training."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mpslint.core.finding import Related
from mpslint.facts.values import Call, Instance, Known, Value
from mpslint.rule.check import Gate
from mpslint.rule.comparisons import fits_any
from mpslint.rule.guards import is_certain
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.translate import bound_arguments

RUNS = ("", "generate", "forward")
"""The methods that run a model; its call is none."""
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef)
MOVES = ("to", "cpu", "cuda", "to_empty")
GATE = Gate(words=("return_tensors", "tensor"), roles=("trainer",), groups=(("return_tensors", "tensor"),))


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the first run of each model that a Trainer has moved, on inputs that are certainly on the CPU.

    Options: `makers`, the calls (globs) whose result is a tensor, or a dict of tensors, on the CPU unless it is given a device.
    """
    trainers = {id(one.call): one for one in evidence.file_plans.matched if one.pattern.role == "trainer"}
    by_result = {id(one.call.result): one.call for one in trainers.values() if one.call.result is not None}
    models = {id(call): _model_of(call, bound_arguments(call, one.pattern)) for call, one in ((o.call, o) for o in trainers.values())}
    moved: dict[int, Call] = {}
    elsewhere: set[int] = set()
    to_cpu: set[int] = set()
    for call in evidence.facts.calls:
        receiver = call.receiver
        if call.method == "train" and id(receiver) in by_result:
            trainer = by_result[id(receiver)]
            if (model := models[id(trainer)]) is not None and not is_kept_off(trainer, evidence):
                moved[id(model)] = call
        elif call.method in MOVES and isinstance(receiver, Instance):
            moved.pop(id(receiver), None)
            (elsewhere.discard if is_to_cpu(call) else elsewhere.add)(id(receiver))
            to_cpu |= {id(call.node)} if is_to_cpu(call) else set()
        elif not isinstance(receiver, Instance) or id(receiver) not in moved or call.method not in RUNS or not is_certain(call.context):
            continue
        elif any(_is_left(value, elsewhere, options["makers"]) for value in _given(call)) or _is_rebuilt(call, to_cpu, evidence):
            trained = Related(evidence.span_of(moved.pop(id(receiver)).node), "the Trainer has moved the model to the GPU here")
            yield Match(evidence.span_of(call.node), call=call, related=(trained,), node=call.node)


def _model_of(call: Call, arguments: Mapping[str, Any]) -> Value | None:
    """Return the model that a Trainer is given, an object that the program made."""
    given = arguments.get("model")
    return given.value if given is not None and isinstance(given.value, Instance) else None


def is_kept_off(trainer: Call, evidence: Evidence) -> bool:
    """Return whether a Trainer leaves the model where it is: it trains on the CPU, or places nothing."""
    plan = next((plan for plan in evidence.plans if trainer in plan.calls.get("trainer", ())), None)
    return (
        plan is None
        or plan.constant("device.cpu_only") is True
        or bool(plan.constant("model.bits"))
        or plan.constant("model.device_map") == "cpu"
    )


def _given(call: Call) -> Sequence[Value]:
    named = (argument.value for argument in call.keywords.values())
    return [*(argument.value for argument in call.arguments), *named, *call.unpacked]


def _is_left(value: Value, elsewhere: set[int], makers: Sequence[str]) -> bool:
    """Return whether a value is a tensor that was made on the CPU and never left it."""
    if not isinstance(value, Instance) or id(value) in elsewhere:
        return False
    if value.owner is not None and value.call is None:
        return _is_left(value.owner, elsewhere, makers)
    made = value.call
    if made is None or not any(fits_any(name, tuple(makers)) for name in made.names) or "device" in made.keywords:
        return False
    kind = made.keywords.get("return_tensors")
    return "return_tensors" not in made.keywords or (kind is not None and isinstance(kind.value, Known) and kind.value.value == "pt")


def _is_rebuilt(call: Call, to_cpu: set[int], evidence: Evidence) -> bool:
    """Return whether a call unpacks a dict whose values were moved to the CPU: `inputs = {k: v.to(device) for k, v in inputs.items()}`."""
    names = {one.value.id for one in call.node.keywords if one.arg is None and isinstance(one.value, ast.Name)}
    scope = evidence.above(call.node, SCOPES)
    for node in evidence.nodes_beside(".to("):
        made, kept = evidence.parents.get(node), evidence.above(node, (ast.Assign,))
        if id(node) not in to_cpu or not isinstance(made, ast.DictComp) or made.value is not node or not isinstance(kept, ast.Assign):
            continue
        is_before = kept.lineno < call.node.lineno and evidence.above(node, SCOPES) is scope
        if is_before and any(isinstance(target, ast.Name) and target.id in names for target in kept.targets):
            return True
    return False


def is_to_cpu(call: Call) -> bool:
    """Return whether a move goes to the CPU of the Mac."""
    if call.method == "cpu":
        return True
    first = call.arguments[0].value if len(call.arguments) == 1 else call.keywords["device"].value if "device" in call.keywords else None
    return isinstance(first, Known) and isinstance(first.value, str) and first.value.split(":")[0] == "cpu"
