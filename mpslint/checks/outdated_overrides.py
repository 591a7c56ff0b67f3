"""Methods of a Trainer that a program overrides with fewer arguments than the Trainer passes, from `rules/platform/overrides.yaml`."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mpslint.checks.own_training_loop import is_replaced, replaces_loop
from mpslint.core.finding import Span
from mpslint.core.knowledge import platform_data
from mpslint.core.versions import Version, VersionRange
from mpslint.facts.values import Call, Class, Function
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.gather import only_evaluates


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each method, at its name, of a class whose objects the program makes, once for a class."""
    rows = _rows(tuple(evidence.target.versions.items()))
    seen: set[int] = set()
    classes = platform_data("overrides")["classes"]
    for call in evidence.facts.calls if rows else ():
        cls = call.result.cls if call.result is not None else None
        if cls is None or not any(name in classes for name in call.names) or not _trains(call, evidence):
            continue
        if replaces_loop(cls):
            continue
        for row in rows:
            method = cls.lookup(row["method"])
            if not isinstance(method, Function) or id(method) in seen or is_replaced(row["by"], cls):
                continue
            seen.add(id(method))
            missing = _missing(method, row)
            if missing:
                yield _match(method, cls, missing, row, call, evidence)


@functools.lru_cache(maxsize=64)
def _rows(versions: tuple[tuple[str, Version], ...]) -> Sequence[Mapping[str, Any]]:
    """Return what is known of some versions."""
    return [row for row in platform_data("overrides")["calls"] if VersionRange.parse(row["versions"]).matches(dict(versions))]


def _trains(call: Call, evidence: Evidence) -> bool:
    """Return whether a call makes a Trainer that the program trains with, and what it raises isn't caught there."""
    made = next((one for one in evidence.file_plans.matched if one.call is call), None)
    return made is not None and not call.context.in_handler and not only_evaluates(made, evidence.facts)


def _missing(method: Function, row: Mapping[str, Any]) -> list[str]:
    """Return the arguments that a method is called with and doesn't take; none for a decorated one, whose signature is another."""
    if method.decorators or isinstance(method.node, ast.Lambda):
        return []
    given = method.node.args
    places = [one.arg for one in (*given.posonlyargs, *given.args)][1:]
    names = {*places, *(one.arg for one in given.kwonlyargs)}
    missing = [] if given.vararg else list(row["positional"][len(places) :])
    return missing + [name for name in row.get("keywords", ()) if not given.kwarg and name not in names]


def _match(method: Function, cls: Class, missing: Sequence[str], row: Mapping[str, Any], call: Call, evidence: Evidence) -> Match:
    package = next(iter(VersionRange.parse(row["versions"]).packages))
    values = {
        "written": f"{cls.node.name}.{method.name}",
        "missing": " and ".join(missing),
        "add": ", ".join(f"{name}=None" for name in missing),
        "library": f"{package} {evidence.target.shown(package)}",
    }
    start = evidence.document.text.index(method.name, evidence.span_of(method.node).start)
    return Match(Span(start, start + len(method.name)), values, call=call, context=call.context, node=method.node)
