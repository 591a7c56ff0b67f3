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
    """Yield a match for a program that needs one of the packages, a module that imports one, and a file with one of the words."""
    known = platform_data("elsewhere")
    imports = evidence.facts.imports
    needed = [fact for fact in imports if not evidence.is_program or not (fact.context.guards or fact.context.handlers)]
    packages = {fact.name.split(".")[0] for fact in needed}
    texts = (evidence.document.text, evidence.document.path)
    if packages & set(known["imports"]) or any(re.search(word, text) for word in known["mentions"] for text in texts):
        yield Match(Span(0, 0))
