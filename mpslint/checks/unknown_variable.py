"""Environment variables that look as if they spoke to the MPS backend, but that PyTorch does not read.

A check because it looks for the name that is nearest to a wrong one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.core.finding import Edit, Span
from mpslint.core.knowledge import platform_data
from mpslint.core.versions import format_version, parse_version
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.spelling import WrittenSetting


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each variable that no release reads, or none up to the Target's."""
    known = platform_data("environment")
    torch = evidence.target.versions.get("torch")
    for write in evidence.facts.environment:
        if not write.name.startswith(tuple(known["prefixes"])):
            continue
        entry = known["variables"].get(write.name)
        near = difflib.get_close_matches(write.name, list(known["variables"]), 1, 0.85) if entry is None else []
        if entry is None:
            what = "no release of PyTorch reads it" + (f", only {near[0]}" if near else "")
        else:
            since = parse_version(entry["since"])
            if since is None or torch is None or torch[: len(since)] >= since:
                continue
            what = f"PyTorch reads it since {format_version(since)}, and this is torch {format_version(torch)}"
        values = {"written": write.name, "what": what, "near": near[0] if near else ""}
        yield Match(Span(write.start, write.end), values, context=write.context)


def rewrite(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edit that spells the variable right, where it is clear which one is meant."""
    text = evidence.document.text[match.span.start : match.span.end]
    name, near = match.values["written"], match.values["near"]
    if not near or text.count(name) != 1:
        return None
    start = match.span.start + text.index(name)
    return WrittenSetting((Edit(Span(start, start + len(name)), near),), near)
