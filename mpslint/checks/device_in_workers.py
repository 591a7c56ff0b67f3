"""Loaders whose workers would put samples on the GPU."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._loaders import made_of, run_in_workers, with_workers
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the workers of loaders whose data set or collate function moves tensors to the Mac's GPU."""
    placed = [one.call for one in evidence.file_plans.matched if one.devices == {"mps"} and one.call.context.functions]
    for _, match, arguments in with_workers(evidence):
        parts = [part for name in ("dataset", "collate_fn") if name in arguments for part in made_of(arguments[name].value)]
        bodies = {id(function.node) for part in parts for function in run_in_workers(part)}
        call = next((call for call in placed if any(id(function) in bodies for function in call.context.functions)), None)
        if call is not None:
            yield dataclasses.replace(match, values={**match.values, "place": ast.unparse(call.node)})
