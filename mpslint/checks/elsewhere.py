"""Files that are not meant to train on a Mac: kernels and tools for CUDA."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.core.finding import Span
from mpslint.core.knowledge import platform_data
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield a match for a program that needs one of the packages, and for a module that imports one."""
    known = platform_data("elsewhere")
    imports = evidence.facts.imports
    needed = [fact for fact in imports if not evidence.is_program or not (fact.context.guards or fact.context.handlers)]
    packages = {fact.name.split(".")[0] for fact in needed}
    if packages & set(known["imports"]):
        yield Match(Span(0, 0))
