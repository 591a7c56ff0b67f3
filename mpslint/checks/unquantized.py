"""Take a model without quantisation, and the adapter that is made for it with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence


def values(match: Match, evidence: Evidence) -> Mapping[str, Any]:
    """Return no bits; QLoRA, which is LoRA on quantised weights, becomes LoRA."""
    is_qlora = match.plan is not None and match.plan.constant("model.adapter") == "qlora"
    return {"model.bits": None, **({"model.adapter": "lora"} if is_qlora else {})}
