"""Methods of a library's classes that a program overrides and that the Target's versions of the library call otherwise, or refuse.

A check because it binds what a library passes to the signature that a class of the program has: no condition looks into a signature.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks.own_training_loop import is_replaced
from mpslint.core.finding import Span
from mpslint.core.knowledge import platform_data
from mpslint.core.versions import VersionRange
from mpslint.facts.values import Call, Class, Function
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.gather import only_evaluates


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each method, at its name, once.

    Options: `table`, of `rules/platform/overrides.yaml`; `unstarted`, to yield those of methods of the Trainer that a run never calls,
    while it calls others, instead of the rest.
    """
    table = platform_data("overrides")[options["table"]]
    rows = [row for row in table["calls"] if VersionRange.parse(row["versions"]).matches(evidence.target.versions)]
    rows = [row for row in rows if _is_unstarted(row["by"], table.get("starts", ()), evidence) is bool(options.get("unstarted"))]
    seen: set[ast.AST] = set()
    values = [value for frame in evidence.facts.frames for value in frame.slots.values()]
    for cls in (value for value in values if isinstance(value, Class)) if rows else ():
        is_of = not set(table["classes"]).isdisjoint(cls.outside_bases())
        made = _trained_with(cls, evidence) if is_of and table.get("made") else None
        if not is_of or (table.get("made") and made is None):
            continue
        for row in () if any(is_replaced(name, cls) for name in table.get("loops", ())) else rows:
            method = cls.lookup(row["method"])
            if not isinstance(method, Function) or isinstance(method.node, ast.Lambda):
                continue
            if method.node in seen or is_replaced(row["by"], cls):
                continue
            missing, more = _misfit(method.node, row) if "positional" in row else ([], [])
            if {"missing": missing, "more": more}.get(table.get("misfit", ""), "becomes" in row):
                seen.add(method.node)
                yield _match(method.node, cls, missing, more, row, made, evidence)


def _is_unstarted(method: str, starts: list[str], evidence: Evidence) -> bool:
    """Return whether a run calls other methods of a Trainer by which it may start, and not this one."""
    called = evidence.calls_of_method
    return any(one in called for one in starts) and method not in called


def _trained_with(cls: Class, evidence: Evidence) -> Call | None:
    """Return a call that makes a Trainer of a class that the program trains with, where what it raises isn't caught."""
    for one in evidence.file_plans.matched:
        is_of = one.call.result is not None and one.call.result.cls is cls
        if is_of and not one.call.context.in_handler and not only_evaluates(one, evidence.facts):
            return one.call
    return None


def _misfit(method: ast.FunctionDef | ast.AsyncFunctionDef, row: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the arguments that a method is called with and doesn't take, and those that it requires beyond them.

    Both are empty for a decorated one, whose signature is another.
    """
    if method.decorator_list:
        return [], []
    given, passed, named = method.args, row["positional"], row.get("keywords", ())
    places = [one.arg for one in (*given.posonlyargs, *given.args)][1:]
    missing = [] if given.vararg else list(passed[len(places) :])
    missing += [name for name in named if not given.kwarg and name not in {*places, *(one.arg for one in given.kwonlyargs)}]
    required = places[: len(places) - len(given.defaults)]
    return missing, [name for name in required[len(passed) :] if name not in named]


def _match(
    method: ast.FunctionDef | ast.AsyncFunctionDef,
    cls: Class,
    missing: list[str],
    more: list[str],
    row: Mapping[str, Any],
    made: Call | None,
    evidence: Evidence,
) -> Match:
    package = VersionRange.parse(row["versions"]).packages[0]
    values = {
        "written": f"{cls.node.name}.{method.name}",
        "missing": " and ".join(missing),
        "add": ", ".join(f"{name}=None" for name in missing),
        "more": " and ".join(f"`{one}`" for one in more),
        "passes": ", ".join(["self", *row.get("positional", ())]),
        "by": f"Trainer.{row['by']}",
        "becomes": row.get("becomes", ""),
        "version": evidence.target.shown(package),
    }
    start = evidence.document.text.index(method.name, evidence.span_of(method).start)
    return Match(Span(start, start + len(method.name)), values, call=made, context=made.context if made else None, node=method)
