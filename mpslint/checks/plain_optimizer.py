"""The optimizer of plain PyTorch that takes the place of one of bitsandbytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mpslint.core.knowledge import platform_data
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence


def values(match: Match, evidence: Evidence) -> Mapping[str, Any] | None:
    """Return the setting of the optimizer that computes the same update, or None when there is none."""
    plain = platform_data("optimizers").get(match.values["value"])
    return None if plain is None else {"optimizer.name": plain}
