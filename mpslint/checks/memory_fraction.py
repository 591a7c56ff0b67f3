"""What `torch.mps.set_per_process_memory_fraction` is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.core.knowledge import platform_data
from mpslint.facts.values import Known
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

WORDS = ("set_per_process_memory_fraction",)
"""One of these stands in every function, and file, in which it finds something."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the fractions that are set wrong in one way. Option `finds`: unlimited, out_of_range or no_float."""
    for matched in evidence.file_plans.matched:
        for setting in matched.settings:
            if setting.name != "environment.fraction" or setting.argument is None or setting.span is None:
                continue
            given = setting.argument.value
            if isinstance(given, Known) and isinstance(given.value, (int, float)) and _kind(given.value) == options["finds"]:
                values = {"value": given.value, "written": evidence.document.text[setting.span.start : setting.span.end]}
                yield Match(evidence.span_of(matched.call.node), values, setting, matched.call, None, setting.context, (), setting.node)


def _kind(number: int | float) -> str:
    most = platform_data("environment")["watermarks"]["most"]
    if isinstance(number, int):
        return "no_float"
    return "unlimited" if number == 0 else "" if 0 <= number <= most else "out_of_range"
