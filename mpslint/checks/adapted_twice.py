"""Trainers that get a model with adapters and the configuration of adapters, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.facts.values import Instance
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the configuration that such a trainer is given. Options: `trainers` and `makers` of models with adapters, by name."""
    for call in evidence.facts.calls:
        if not any(name in options["trainers"] for name in call.names) or call.context.in_handler:
            continue
        model, config = call.keywords.get("model") or next(iter(call.arguments), None), call.keywords.get("peft_config")
        if model is None or config is None or config.keyword is None or not isinstance(config.value, Instance):
            continue
        makers = [one for one in evidence.facts.calls if one.result is not None and one.result is model.value]
        maker = next((name for one in makers for name in one.names if name in options["makers"]), None)
        if maker is not None:
            values = {"called": call.names[0].rsplit(".", 1)[-1], "maker": maker.rsplit(".", 1)[-1]}
            yield Match(evidence.span_of(config.keyword), values, call=call, context=call.context, node=config.keyword)
