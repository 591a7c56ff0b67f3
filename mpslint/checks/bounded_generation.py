"""Bound what evaluation generates by the length that the targets are cut to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence


def values(match: Match, evidence: Evidence) -> Mapping[str, Any] | None:
    """Return a bound on generation: the length of the targets; None where that is not known."""
    target = match.plan.constant("length.target") if match.plan is not None else None
    return {"length.generation": target} if isinstance(target, int) and target > 0 else None
