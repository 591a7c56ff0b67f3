"""Split a batch that is too large into micro-batches whose gradients add up to the same batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

TOKENS = 4096
"""What a micro-batch may hold where nobody worked out what fits: a base-size model trains on that beside its optimizer in about 8 GB."""


def values(match: Match, evidence: Evidence) -> Mapping[str, Any] | None:
    """Return a smaller batch and more accumulation, their product unchanged; None where that cannot be worked out."""
    plan = match.plan
    if plan is None:
        return None
    batch, length = plan.constant("batch.train"), plan.constant("length.reached")
    accumulation, group = plan.constant("batch.accumulation"), plan.constant("generation.group_size") or 1
    if not all(isinstance(number, int) for number in (batch, length, accumulation, group)):
        return None
    sizes = [size for size in range(batch, 0, -1) if batch % size == 0 and size % group == 0]
    most = evidence.target.largest_batch if evidence.target.largest_batch is not None else min(batch - 1, TOKENS // length)
    micro = next((size for size in sizes if size <= most), sizes[-1] if sizes else batch)
    return None if micro == batch else {"batch.train": micro, "batch.accumulation": accumulation * batch // micro}
