"""Learning rates that NumPy computed: float64 numbers, which a callback makes a tensor of on the device."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.tensors.traits import DTYPE, dtype_of, is_array, joined_trait


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the learning rates of optimizers that are certainly numbers of NumPy with 64 bits."""
    for matched in evidence.file_plans.matched:
        call = matched.call
        if matched.pattern.role != "optimizer":
            continue
        given = call.keywords.get("lr") or (call.arguments[1] if len(call.arguments) > 1 else None)
        if given is None or given.node is None or not is_array(given.value) or dtype_of(joined_trait(given.value, DTYPE)) != "float64":
            continue
        yield Match(evidence.span_of(given.node), {"written": ast.unparse(given.node)}, None, call, None, call.context, (), given.node)
