"""Tokenizer calls whose length is no multiple of what they pad to.

A check because it compares two arguments of one call with each other, and rounds one to the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the lengths of tokenizer calls that cut and pad, and raise because the length is no multiple of `pad_to_multiple_of`."""
    for matched in evidence.file_plans.matched:
        own = {setting.name: setting for setting in matched.settings if setting.is_known}
        length, multiple = own.get("length.source"), own.get("padding.multiple_of")
        pads, cuts = own.get("padding.strategy"), own.get("length.truncation")
        if matched.pattern.role != "tokenizer" or not (length and multiple and pads and cuts) or length.span is None:
            continue
        if "none" in (pads.constant, cuts.constant) or not (_is_count(length.constant) and _is_count(multiple.constant)):
            continue
        if length.constant % multiple.constant:
            up = -(-length.constant // multiple.constant) * multiple.constant
            values = {"value": length.constant, "written": length.constant, "multiple": multiple.constant, "rounded": up}
            yield Match(length.span, values, length, matched.call, None, matched.call.context, (), length.node)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
