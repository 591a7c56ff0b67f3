"""Loaders whose workers would put samples on the GPU."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._loaders import made_of, with_workers
from mpslint.facts.values import Call, Class, Function
from mpslint.rule.judge import Match, match_of
from mpslint.settings.evidence import Evidence

IN_WORKERS = ("__getitem__", "__getitems__", "__iter__", "__call__")
"""Methods that run in the workers."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the workers of loaders whose data set or collate function moves tensors to the Mac's GPU."""
    placed = [call for call in _placements(evidence) if call.context.functions]
    for _, workers, arguments in with_workers(evidence):
        parts = [part for name in ("dataset", "collate_fn") if name in arguments for part in made_of(arguments[name].value)]
        bodies = {id(node): node for part in parts for node in _run_by(part)}
        call = next((call for call in placed if any(id(function) in bodies for function in call.context.functions)), None)
        match = match_of(workers, evidence.plans[-1], evidence)
        if call is not None and match is not None:
            yield dataclasses.replace(match, values={**match.values, "place": ast.unparse(call.node)})


def _placements(evidence: Evidence) -> Iterator[Call]:
    """Yield the calls that put something on MPS."""
    for matched in evidence.file_plans.matched:
        for setting in matched.settings:
            if setting.name == "device.name" and any(str(value).startswith("mps") for value in setting.constants):
                yield matched.call


def _run_by(part: Class | Function) -> Iterator[ast.AST]:
    if isinstance(part, Function):
        yield part.node
        return
    for name in IN_WORKERS:
        method = part.lookup(name)
        if isinstance(method, Function):
            yield method.node
