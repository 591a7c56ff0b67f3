"""Weights of a loss that lie on the CPU while a Trainer moves the model to the GPU: `CrossEntropyLoss(weight=w)` in `compute_loss`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks.inputs_left_on_cpu import is_kept_off, is_to_cpu
from mpslint.core.finding import Related
from mpslint.facts.values import Call, Instance, Known, Value
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

GIVEN = ("weight", "pos_weight")
"""The arguments of a loss that hold weights."""
METHODS = ("compute_loss", "forward")
"""The methods that a Trainer's step runs."""
MOVES = ("to", "cpu", "cuda")

GATE = Gate(words=("compute_loss", "forward"), roles=("trainer",), groups=(GIVEN, ("cuda",)))


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each loss of a Trainer's step whose weights were put on the CPU. Options: `losses`, the calls that compute or make one."""
    trainers = [one.call for one in evidence.file_plans.matched if one.pattern.role == "trainer"]
    if not trainers or any(is_kept_off(one, evidence) for one in trainers):
        return
    on_cpu: dict[int, Call] = {}
    elsewhere: set[int] = set()
    seen: set[int] = set()
    for call in evidence.facts.calls:
        if call.method in MOVES and isinstance(call.receiver, Instance):
            if is_to_cpu(call):
                on_cpu[id(call.receiver)] = call
            else:
                elsewhere.add(id(call.receiver))
        elif call.result is not None and _is_made_on_cpu(call):
            on_cpu[id(call.result)] = call
    for call in evidence.facts.calls:
        if not any(name in options["losses"] for name in call.names) or id(call.node) in seen:
            continue
        given = next((one for name in GIVEN if (one := call.keywords.get(name)) is not None), None)
        weights = given.value if given is not None else None
        is_in_step = any(getattr(function, "name", "") in METHODS for function in call.context.functions)
        if given is None or given.node is None or not is_in_step or not _is_left(weights, on_cpu, elsewhere):
            continue
        seen.add(id(call.node))
        placed = Related(evidence.span_of(on_cpu[id(weights)].node), "the weights are put on the CPU here")
        yield Match(evidence.span_of(given.node), call=call, related=(placed,), context=call.context, node=call.node)


def _is_left(weights: Value | None, on_cpu: Mapping[int, Call], elsewhere: set[int]) -> bool:
    return isinstance(weights, Instance) and id(weights) in on_cpu and id(weights) not in elsewhere


def _is_made_on_cpu(call: Call) -> bool:
    """Return whether a call makes a tensor on the device that it is given, and that is the CPU."""
    device = call.keywords.get("device")
    value = device.value if device is not None else None
    return call.name.startswith("torch.") and isinstance(value, Known) and value.value == "cpu"
