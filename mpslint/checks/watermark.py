"""The limits of the MPS allocator, as environment variables set them: no limit, no number, out of range, or one above the other.

A check because two limits are read as C reads numbers, and compared with each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.core.finding import Edit, Span
from mpslint.core.knowledge import platform_data
from mpslint.facts.facts import EnvironmentWrite
from mpslint.facts.values import Known
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.spelling import WrittenSetting

HIGH, LOW = "PYTORCH_MPS_HIGH_WATERMARK_RATIO", "PYTORCH_MPS_LOW_WATERMARK_RATIO"
_NUMBER = re.compile(r"(?i)\s*[+-]?(inf|nan|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)")


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the limits that are set wrong in one way. Option `finds`: unlimited, no_number, out_of_range, without_low or above_high."""
    writes = [write for write in evidence.facts.environment if write.style != "lost"]
    highs = [write for write in writes if write.name == HIGH]
    lows = [write for write in writes if write.name == LOW]
    for write in (*highs, *lows):
        text = _text(write)
        if text is not None and _kind(write, text, highs, lows) == options["finds"]:
            values = {"value": text, "written": f"{write.name}={text}", "write": write, "limit": _limit(highs)}
            yield Match(Span(write.start, write.end), values, context=write.context)


def _kind(write: EnvironmentWrite, text: str, highs: list[EnvironmentWrite], lows: list[EnvironmentWrite]) -> str:
    """Return what is wrong with one limit, '' for nothing."""
    known = platform_data("allocator")["watermarks"]
    number = _number(text)
    if number is None:
        return "no_number"
    if not 0 <= number <= known["most"]:
        return "out_of_range"
    if write.name == LOW:
        limit = _limit(highs)
        return "above_high" if limit is not None and number > limit else ""
    if number == 0:
        return "unlimited"
    return "without_low" if number < known["low"] and not lows else ""


def _limit(highs: list[EnvironmentWrite]) -> float | None:
    """Return what the low limit may be at most: the high one, where it is known."""
    known = platform_data("allocator")["watermarks"]
    if not highs:
        return float(known["high"])
    text = _text(highs[-1])
    number = _number(text) if text is not None else None
    return None if number is None else number or float(known["most"])


def _text(write: EnvironmentWrite) -> str | None:
    return str(write.value.value) if isinstance(write.value, Known) and write.value.value is not None else None


def _number(text: str) -> float | None:
    """Return the number at the start of a text, as C's `strtod` reads it."""
    found = _NUMBER.match(text)
    return float(found.group()) if found else None


def rewrite(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edit that sets the low limit too, a tenth below the high one, in the way in which that is set."""
    write: EnvironmentWrite = match.values["write"]
    document = evidence.document
    high = _number(match.values["value"])
    line = document.line_at(write.start)
    start, text = document.line_starts[line - 1], document.line_text(line)
    name = text.find(HIGH, write.start - start)
    if high is None or document.line_at(write.end) != line or name < 0 or text.count(HIGH) != 1:
        return None
    low = f"{round(high * 0.9, 2):g}"
    a, b = write.value_start - start, write.value_end - start
    quote = text[a] if text[a : a + 1] in "\"'" else ""
    new = f"{text[:name]}{LOW}{text[name + len(HIGH) : a]}{quote}{low}{quote}{text[b:]}"
    rest = text[write.end - start :].strip()
    if rest and not rest.startswith("#"):
        if write.style not in ("shell", "inline"):
            return None
        return WrittenSetting((Edit(Span(write.end, write.end), f" {LOW}={quote}{low}{quote}"),), f"{LOW}={low}")
    newline = document.newline_at(start)
    end = start + len(text)
    return WrittenSetting((Edit(Span(end, end), newline + new.split("#")[0].rstrip()),), f"{LOW}={low}")
