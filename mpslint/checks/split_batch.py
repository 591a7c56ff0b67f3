"""Split a batch that is too large into micro-batches whose gradients add up to the same batch."""

from __future__ import annotations

from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.spell import write_setting
from mpslint.settings.spelling import WrittenSetting, both

TOKENS = 4096
"""What a micro-batch may hold where nobody worked out what fits: a base-size model trains on that beside its optimizer in about 8 GB."""


def rewrite(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edits after which the batch is smaller and accumulates more, their product unchanged; None where that can't be worked
    out."""
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
    wanted = {"batch.train": micro, "batch.accumulation": accumulation * batch // micro}
    first, second = (write_setting(evidence, plan, match.call, name, value) for name, value in wanted.items())
    return both(first, second) if micro != batch else None
