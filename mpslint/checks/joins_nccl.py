"""A run that joins a process group of NCCL whatever it is told: no device of its code matters on a Mac before that is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.facts.values import Known
from mpslint.rule.guards import is_certain
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

BACKEND = "distributed.backend"


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each call that joins a process group for sure; option `backends`, the backends that a Mac lacks."""
    whole = evidence.whole or evidence
    for one in whole.file_plans.matched:
        backends = [setting.value for setting in one.settings if setting.name == BACKEND]
        is_lacking = any(isinstance(value, Known) and value.value in options["backends"] for value in backends)
        if one.pattern.role == "process_group" and is_lacking and is_certain(one.call.context):
            yield Match(whole.span_of(one.call.node), {}, call=one.call, context=one.call.context, node=one.call.node)
