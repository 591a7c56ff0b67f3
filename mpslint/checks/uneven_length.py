"""Tokenizer calls whose length is no multiple of what they pad to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.rule.check import Gate
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

_HANDED_ON = r"\s*(?:None\b|[\[{(\"']|(?:[\w.]+\.)?(?:(?:get|pop)\([\"'])?pad_to_multiple_of\b)"
GIVEN = re.compile(
    r"--pad_to_multiple_of"
    rf"|\bpad_to_multiple_of\s*(?::[^=\n,)]*)?=(?!=|{_HANDED_ON})"
    rf"|[\"']pad_to_multiple_of[\"']\s*:(?!{_HANDED_ON})"
)
"""Something that decides the number, rather than hands it on by the same name."""


GATE = Gate(
    words=("pad_to_multiple_of",),
    roles=("tokenizer",),
    groups=(["pad_to_multiple_of"], ["max_length"], ["padding"], ["truncation"]),
    may_find=lambda document, options, target: document.code_matches(GIVEN),
)


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
