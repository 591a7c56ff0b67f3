"""Objects with float64 state (`rules/platform/float64_classes.yaml`) that go to the Mac's GPU, alone or with a Trainer's model."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks.known_calls import load_table
from mpslint.core.finding import Related
from mpslint.facts.values import Call, Instance, Known, alternatives_of
from mpslint.rule.comparisons import call_holds, fits_any
from mpslint.rule.guards import is_certain
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.tensors.kinds import load_kinds


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each making of such an object that goes to the Mac's GPU.

    Options: `table`, the classes; `bases`, what the classes end in whose objects a Trainer moves with all that they hold; `trainer`, its
    role.
    """
    for entry in load_table(options["table"]):
        if entry.kind != options["kind"]:
            continue
        named = (call for call in evidence.facts.calls if any(fits_any(name, entry.condition.names) for name in call.names))
        makers = [call for call in named if call_holds(call, entry.condition)]
        for call in makers:
            if not call.method and is_certain(call.context):
                yield from _moved(call, entry.what, evidence)
                yield from _held(call, entry.what, evidence, options)


def _moved(maker: Call, what: str, evidence: Evidence) -> Iterator[Match]:
    """Yield the making of an object that the program moves to the Mac's GPU itself: `Metric().to("mps")`, `metric.to(device)`."""
    for call in evidence.facts.calls:
        receiver = call.receiver
        if isinstance(receiver, Instance) and receiver.call is maker and _is_move(call, evidence) and is_certain(call.context):
            yield _match(maker, what, call, evidence)
            return


def _is_move(call: Call, evidence: Evidence) -> bool:
    """Return whether a call moves something to the Mac's GPU on every path."""
    named = [one for s in evidence.settings_of_call.get(id(call), ()) if s.name == "device.name" for one in alternatives_of(s.value)]
    return bool(named) and all(isinstance(one, Known) and str(one.value).partition(":")[0] == load_kinds().gpu for one in named)


def _held(maker: Call, what: str, evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the making of an object that a module holds (`self.fid = ...` in `__init__`) whose Trainer moves it to the Mac's GPU."""
    kept = evidence.parents.get(maker.node)
    function = maker.context.functions[-1] if maker.context.functions else None
    owner = evidence.parents.get(function) if function is not None else None
    if not isinstance(kept, ast.Assign) or not _is_own(kept.targets[0]) or not isinstance(owner, ast.ClassDef):
        return
    if getattr(function, "name", "") != "__init__" or not any(ast.unparse(base).endswith(tuple(options["bases"])) for base in owner.bases):
        return
    for plan in evidence.plans:
        for trainer in plan.calls.get(options["trainer"], ()):
            if plan.constant("device.accelerator") in options["accelerators"] and is_certain(trainer.context):
                yield _match(maker, what, trainer, evidence)
                return


def _is_own(target: ast.expr) -> bool:
    """Return whether a target is an attribute of the object itself, so that a module registers what it is given."""
    return isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"


def _match(maker: Call, what: str, moved: Call, evidence: Evidence) -> Match:
    related = Related(evidence.span_of(moved.node), "it goes to the Mac's GPU here")
    values = {"written": ast.unparse(maker.node.func), "what": what}
    return Match(evidence.span_of(maker.node), values, call=maker, context=moved.context, related=(related,), node=maker.node)
