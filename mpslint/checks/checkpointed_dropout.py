"""Checkpointed modules in which there certainly is dropout."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.facts.values import Instance, Items, Known, Value, alternatives_of
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the calls of torch.utils.checkpoint whose function is, or is made of, a module with dropout.

    Options: `dropouts`, patterns of the qualified names of such modules.
    """
    for matched in evidence.file_plans.matched:
        call = matched.call
        if matched.pattern.role == "checkpoint" and call.arguments and _drops(call.arguments[0].value, tuple(options["dropouts"])):
            yield Match(evidence.span_of(call.node), {}, None, call, None, call.context, (), call.node)


def _drops(value: Value, dropouts: tuple[str, ...], depth: int = 6) -> bool:
    """Return whether a module is, or holds, dropout with a rate above 0."""
    for one in alternatives_of(value):
        if isinstance(one, Items) and any(_drops(item, dropouts, depth - 1) for item in one.values()):
            return True
        if not isinstance(one, Instance) or depth <= 0:
            continue
        given = one.call.given if one.call is not None else []
        if any(fnmatch.fnmatchcase(one.name, glob) for glob in dropouts):
            return any(isinstance(rate, Known) and isinstance(rate.value, float) and rate.value > 0 for rate in given)
        parts = [*given, *one.slots.values(), *([one.owner] if one.owner is not None else [])]
        if any(_drops(part, dropouts, depth - 1) for part in parts):
            return True
    return False
