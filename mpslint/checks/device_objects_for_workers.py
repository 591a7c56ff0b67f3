"""Loaders whose workers would be handed an object, by pickle, that holds a model or tensor on the Mac's GPU, maybe by its Trainer."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mpslint.checks._loaders import TAKEN, pickled, with_workers
from mpslint.core.finding import Related
from mpslint.core.record import record
from mpslint.core.versions import VersionRange
from mpslint.facts.values import Call, Instance, Value, origin_of
from mpslint.program.hooks import loader_makers
from mpslint.program.platform import load_platform
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.tensors.kinds import load_kinds
from mpslint.tensors.traits import PLACE, devices_of, joined_trait


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
    asked = list(_asked(evidence, options))
    for loader, match, arguments in with_workers(evidence):
        taken = [arguments[name].value for name in TAKEN if name in arguments]
        parts = list(pickled(taken))
        found = _placed_in(parts, evidence) or _trained_with(loader, parts, asked, evidence)
        if found is not None:
            name, where = found
            yield dataclasses.replace(match, values={**match.values, "name": name}, related=(*match.related, where))


def _placed_in(parts: Sequence[tuple[str, Value]], evidence: Evidence) -> tuple[str, Related] | None:
    """Return the attribute of what workers take that lies on the GPU, and where that was said."""
    held = ((name, joined_trait(one, PLACE)) for name, one in parts if name)
    found = ((name, origin_of(place)) for name, place in held if devices_of(place) == {load_kinds().gpu})
    return next(((name, Related(evidence.span_of(at), "it is moved to the GPU here")) for name, at in found if at is not None), None)


def _trained_with(
    loader: Call, parts: Sequence[tuple[str, Value]], asked: Sequence[LoaderRequest], evidence: Evidence
) -> tuple[str, Related] | None:
    """Return what an object holds its model by that a Trainer asks for the loader and that the workers take, and the Trainer's call."""
    for one in asked:
        if one.maker in loader.context.functions and any(isinstance(part, Instance) and part.cls is one.source.cls for _, part in parts):
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
