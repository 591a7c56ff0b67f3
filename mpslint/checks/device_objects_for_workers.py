"""Loaders whose workers would be handed an object, by pickle, that holds a model or tensor on the Mac's GPU."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._loaders import with_workers
from mpslint.checks.unpicklable_worker import PICKLES_ITSELF, TAKEN
from mpslint.core.finding import Related
from mpslint.facts.values import Bound, Call, Instance, Known, Value
from mpslint.rule.check import Gate
from mpslint.rule.judge import Match, match_of
from mpslint.settings.evidence import Evidence

GATE = Gate(words=("workers",), roles=("loader",))
DEEPEST = 3
"""Objects within one another in which a model is looked for."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the workers of loaders whose data set, or the object of whose collate method, has an attribute that was moved to the GPU."""
    placed = {id(call.receiver): call for call in _placements(evidence)}
    for call in evidence.facts.calls:
        if _takes_back(call):
            placed.pop(id(call.receiver), None)
    for _, workers, arguments in with_workers(evidence) if placed else ():
        match = match_of(workers, evidence.plans[-1], evidence)
        carried = (one for name in TAKEN if name in arguments for one in _attributes(arguments[name].value))
        held = next((one for one in carried if id(one[1]) in placed), None)
        if match is None or held is None:
            continue
        name, value = held
        related = (*match.related, Related(evidence.span_of(placed[id(value)].node), "it is moved to the GPU here"))
        yield dataclasses.replace(match, values={**match.values, "name": name}, related=related)


def _placements(evidence: Evidence) -> Iterator[Call]:
    """Yield the calls that move an object to the Mac's GPU."""
    for matched in evidence.file_plans.matched:
        call = matched.call
        names = [str(one) for setting in matched.settings if setting.name == "device.name" for one in setting.constants]
        if names and all(name.startswith("mps") for name in names) and isinstance(call.receiver, Instance) and not call.context.guards:
            yield call


def _takes_back(call: Call) -> bool:
    """Return whether a call moves an object to the CPU."""
    first = call.arguments[0].value if call.arguments else None
    return call.method == "cpu" or (call.method == "to" and isinstance(first, Known) and first.value == "cpu")


def _attributes(value: Value, depth: int = DEEPEST) -> Iterator[tuple[str, Value]]:
    """Yield what an object of the program that is pickled holds, by name: the object itself, or that of a method; and what wraps it."""
    owner = value.receiver if isinstance(value, Bound) and value.function is not None and not value.function.is_static else value
    if not isinstance(owner, Instance) or owner.cls is None or any(owner.cls.lookup(name) for name in PICKLES_ITSELF):
        return
    for name, held in owner.written_slots().items():
        if not isinstance(name, str) or not isinstance(held, Instance):
            continue
        yield name, held
        for argument in held.call.arguments if held.call is not None and held.cls is None else ():
            yield name, argument.value
        if depth and held is not owner:
            yield from _attributes(held, depth - 1)
