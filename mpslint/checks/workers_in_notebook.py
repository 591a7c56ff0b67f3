"""Loaders of a notebook whose workers would have to import what only the notebook defines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from mpslint.checks._loaders import TAKEN, made_of, with_workers
from mpslint.facts.values import Class, Function
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.source.document import Kind


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the workers of loaders that take a class or function of the notebook with them."""
    if evidence.document.kind is not Kind.NOTEBOOK:
        return
    for _, match, arguments in with_workers(evidence):
        parts = (part for name in TAKEN if name in arguments for part in made_of(arguments[name].value))
        own = next((part for part in parts if _is_in_notebook(part, evidence)), None)
        if own is not None:
            name = own.node.name if isinstance(own, Class) else own.name
            yield replace(match, values={**match.values, "name": name})


def _is_in_notebook(part: Class | Function, evidence: Evidence) -> bool:
    """Return whether a class or function is defined in the notebook itself: what it imports of its project, workers import too."""
    started = evidence.document.started
    return started is None or evidence.span_of(part.node) in started.span
