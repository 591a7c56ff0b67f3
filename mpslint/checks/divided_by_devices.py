"""Divisions by a number of devices that is 0 on a Mac: `batch_size // torch.cuda.device_count()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.facts.facts import Division
from mpslint.program.walk import walk
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each division by what the Target answers 0 for."""
    for division in evidence.facts.divisions:
        if _is_counted(division):
            continue
        yield Match(evidence.span_of(division.node), {"question": division.source}, context=division.context, node=division.node)


def _is_counted(division: Division) -> bool:
    """Return whether a loop around a division goes through as many rounds as there are devices: none (`for rank in range(gpus)`)."""
    divisor = division.node.right if isinstance(division.node, ast.BinOp) else division.node.value
    names = {one.id for one in walk(divisor) if isinstance(one, ast.Name)}
    counted = (one for loop in division.context.loops for one in walk(loop.test if isinstance(loop, ast.While) else loop.iter))
    return any(isinstance(one, ast.Name) and one.id in names for one in counted)
