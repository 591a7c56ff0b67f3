"""Loaders whose workers would be handed an object, by pickle, that holds a model or tensor on the Mac's GPU, maybe by its Trainer."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mpslint.checks._loaders import with_workers
from mpslint.checks.unpicklable_worker import PICKLES_ITSELF, TAKEN
from mpslint.core.finding import Related
from mpslint.core.record import record
from mpslint.core.versions import VersionRange
from mpslint.facts.values import Bound, Call, Instance, Known, Value
from mpslint.program.hooks import loader_makers
from mpslint.program.platform import load_platform
from mpslint.rule.judge import Match, match_of
from mpslint.settings.evidence import Evidence

DEEPEST = 3
"""Objects within one another in which a model is looked for."""


@record(frozen=True)
class LoaderRequest:
    """A Trainer's call that asks an object for loaders."""

    call: Call
    source: Instance
    maker: ast.AST
    """The method that it calls."""
    name: str
    """What the object holds the model by."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the workers of loaders whose data set, or the object of whose collate method, has an attribute that was moved to the GPU.

    Options: `carriers`, the classes whose objects hold the model once a Trainer asks them for loaders, with what they hold it by;
    `accelerators`, the words by which a Trainer uses the Mac's GPU, and `chosen`, the versions in which one does that is told nothing.
    """
    placed = {id(call.receiver): call for call in _placements(evidence)}
    for call in evidence.facts.calls:
        if _takes_back(call):
            placed.pop(id(call.receiver), None)
    asked = list(_asked(evidence, options))
    for loader, workers, arguments in with_workers(evidence) if placed or asked else ():
        match = match_of(workers, evidence.plans[-1], evidence)
        taken = [arguments[name].value for name in TAKEN if name in arguments]
        held = _placed_in(taken, placed, evidence) or _trained_with(loader, taken, asked, evidence)
        if match is not None and held is not None:
            name, where = held
            yield dataclasses.replace(match, values={**match.values, "name": name}, related=(*match.related, where))


def _placed_in(taken: Sequence[Value], placed: Mapping[int, Call], evidence: Evidence) -> tuple[str, Related] | None:
    """Return the attribute of what workers take that was moved to the GPU, and where."""
    held = ((name, one) for value in taken for name, one in _attributes(value) if id(one) in placed)
    return next(((name, Related(evidence.span_of(placed[id(one)].node), "it is moved to the GPU here")) for name, one in held), None)


def _trained_with(loader: Call, taken: Sequence[Value], asked: Sequence[LoaderRequest], evidence: Evidence) -> tuple[str, Related] | None:
    """Return what an object holds its model by that a Trainer asks for the loader and that the workers take, and the Trainer's call."""
    for one in asked:
        if one.maker not in loader.context.functions:
            continue
        owners = [owner for value in taken if (owner := _pickled(value)) is not None]
        held = [*owners, *(part for owner in owners for _, part in _attributes(owner))]
        if any(isinstance(part, Instance) and part.cls is one.source.cls for part in held):
            return one.name, Related(evidence.span_of(one.call.node), "this moves the model to the GPU")
    return None


def _asked(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[LoaderRequest]:
    """Yield what Trainers on the Mac's GPU ask for loaders."""
    is_chosen = VersionRange.parse(options["chosen"]).matches(evidence.target.versions)
    for call in evidence.facts.calls:
        matched = evidence.file_plans.by_result.get(id(call.receiver))
        if matched is None or matched.call.context.guards:
            continue
        told = next((one for one in matched.settings if one.name == "device.accelerator"), None)
        if told is None or not told.constants or not (told.is_written or is_chosen):
            continue
        if not all(word in options["accelerators"] for word in told.constants):
            continue
        for maker, source in loader_makers(call, load_platform()):
            bases = source.cls.outside_bases() if source.cls is not None else ()
            name = next((held for base, held in options["carriers"].items() if base in bases), None)
            if name is not None:
                yield LoaderRequest(call, source, maker.node, name)


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


def _pickled(value: Value) -> Instance | None:
    """Return the object of the program that is pickled with a value: itself, or that of a method; None where it says itself how."""
    owner = value.receiver if isinstance(value, Bound) and value.function is not None and not value.function.is_static else value
    if not isinstance(owner, Instance) or owner.cls is None or any(owner.cls.lookup(name) for name in PICKLES_ITSELF):
        return None
    return owner


def _attributes(value: Value, depth: int = DEEPEST) -> Iterator[tuple[str, Value]]:
    """Yield what an object of the program that is pickled holds, by name: the object itself, or that of a method; and what wraps it."""
    owner = _pickled(value)
    if owner is None:
        return
    for name, held in owner.written_slots().items():
        if not isinstance(name, str) or not isinstance(held, Instance):
            continue
        yield name, held
        for argument in held.call.arguments if held.call is not None and held.cls is None else ():
            yield name, argument.value
        if depth and held is not owner:
            yield from _attributes(held, depth - 1)
