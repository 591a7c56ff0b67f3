"""Divisions by a number of devices that is 0 on a Mac: `batch_size // torch.cuda.device_count()`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

GATE = Gate(words=("device_count",))


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each division by what the Target answers 0 for."""
    for division in evidence.facts.divisions:
        yield Match(evidence.span_of(division.node), {"question": division.source}, context=division.context, node=division.node)
