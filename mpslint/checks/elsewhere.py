"""Files that are not meant to train on a Mac: kernels and tools for CUDA, jobs for a remote service."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.finding import Span
from mpslint.judge import Match
from mpslint.knowledge import platform_data
from mpslint.settings.evidence import Evidence


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield a match where a file imports or mentions what `rules/platform/elsewhere.yaml` names."""
    known = platform_data("elsewhere")
    packages = {fact.name.split(".")[0] for fact in evidence.facts.imports}
    if packages & set(known["imports"]) or any(re.search(word, evidence.document.text) for word in known["mentions"]):
        yield Match(Span(0, 0))
