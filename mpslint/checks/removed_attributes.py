"""Attributes that the objects of a class no longer have, from `attributes` of `rules/platform/removed_names.yaml`.

A check because it asks who reads an attribute of an object, which no condition does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.core.finding import Span
from mpslint.core.knowledge import platform_data
from mpslint.core.versions import VersionRange
from mpslint.facts.values import Instance
from mpslint.program.walk import called_name
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each place that reads such an attribute of an object to which the program doesn't give it."""
    for name, row in platform_data("removed_names")["attributes"].items():
        exists = VersionRange.parse(row["exists"])
        if exists.matches(evidence.target.versions) or _is_asked_for(name, evidence):
            continue
        package = exists.packages[0]
        library = f"{package} {evidence.target.shown(package)}" if package in evidence.target.versions else package
        values = {"written": name, "library": library, "becomes": row["becomes"]}
        for read, nodes in evidence.facts.uses.reads.items():
            owner = read.owner if isinstance(read, Instance) else None
            if owner is None or not _is_of(owner, row["of"]):
                continue
            for node in (one for one in nodes if isinstance(one, ast.Attribute) and one.attr == name):
                end = evidence.span_of(node).end
                context = owner.call.context if owner.call is not None else None
                yield Match(Span(end - len(name), end), dict(values), call=owner.call, context=context, node=node)


def _is_asked_for(name: str, evidence: Evidence) -> bool:
    """Return whether the program asks by its name whether there is such an attribute."""
    whole = evidence.whole or evidence
    above = (whole.parents.get(node) for node in whole.naming(name) if isinstance(node, ast.Constant))
    return any(one is not None and called_name(one) in ("hasattr", "getattr", "setattr") for one in above)


def _is_of(owner: Instance, known: list[str]) -> bool:
    """Return whether an object is of some classes, and of no others outside the program."""
    names = owner.cls.outside_bases() if owner.cls is not None else (owner.name,)
    return bool(names) and set(names) <= set(known)
