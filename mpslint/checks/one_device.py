"""The device without its number, where a constant names a second GPU of the Mac."""

from __future__ import annotations

from mpslint.core.finding import Edit
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.spelling import WrittenSetting


def rewrite(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edit that leaves the number out of `"mps:1"`; None for what is put together elsewhere."""
    text = evidence.document.text[match.span.start : match.span.end]
    device, _, number = str(match.values["value"]).partition(":")
    if text[1:-1] != f"{device}:{number}" or text[:1] != text[-1:]:
        return None
    new = f"{text[0]}{device}{text[-1]}"
    return WrittenSetting((Edit(match.span, new),), new)
