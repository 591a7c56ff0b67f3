"""`Dataset.map` with processes after something was put on the GPU: on macOS they are forks of a process that uses Metal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.facts.values import Call, Known
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.roles import roles_that


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the `num_proc` of `map` and `filter` calls that are reached after the GPU is in use."""
    on_mps = {id(call) for call in _uses_of_mps(evidence)}
    in_use = False
    for call in evidence.facts.calls:
        if id(call) in on_mps and call.context.called:
            in_use = True
        argument = call.keywords.get("num_proc")
        if not in_use or call.method not in ("map", "filter") or argument is None or not call.context.called:
            continue
        if isinstance(argument.value, Known) and isinstance(argument.value.value, int) and argument.value.value > 1:
            node = argument.keyword or argument.node
            if node is not None:
                values = {"value": argument.value.value, "written": f"num_proc={argument.value.value}"}
                yield Match(evidence.span_of(node), values, None, call, None, call.context, (), node)


def _uses_of_mps(evidence: Evidence) -> Iterator[Call]:
    """Yield the calls that put something on MPS: placements, and the makers of Trainers."""
    for matched in evidence.file_plans.matched:
        is_placing = matched.pattern.role in ("placement", "default_device") and "mps" in matched.devices
        if is_placing or matched.pattern.role in roles_that("trains"):
            yield matched.call
