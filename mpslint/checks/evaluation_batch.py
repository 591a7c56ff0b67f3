"""Evaluate in batches no larger than those of the training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence


def values(match: Match, evidence: Evidence) -> Mapping[str, Any] | None:
    """Return the batch of the training as that of the evaluation; None where it is not known."""
    batch = match.plan.constant("batch.train") if match.plan is not None else None
    return {"batch.eval": batch} if isinstance(batch, int) else None
