"""Whether a Trainer, an Accelerator or the like moves the model to the Mac's GPU, wherever the program puts it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.roles import load_roles

GATE = Gate(words=("Trainer", "Accelerator"))


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the calls that choose a device when nothing names one."""
    for matched in evidence.file_plans.matched:
        if matched.pattern.role in load_roles().choose_device:
            yield Match(evidence.span_of(matched.call.node), {}, call=matched.call, context=matched.call.context, node=matched.call.node)
