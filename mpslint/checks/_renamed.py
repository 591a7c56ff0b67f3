"""Imports and calls of removed names, rewritten to their replacements."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mpslint.core.finding import Edit, Span
from mpslint.facts.values import Call
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.importing import import_edits
from mpslint.settings.spell import add_argument
from mpslint.settings.spelling import WrittenSetting

Successor = Callable[[str, ast.ImportFrom], str | None]
"""The qualified name that takes the place of one that a statement imports by this name; None for a name that stays."""


def renamed(match: Match, evidence: Evidence, new: str, entry: Mapping[str, Any], successor: Successor) -> WrittenSetting | None:
    """Return the edits after which a matched import, or call, means `new`; None where something else than a call is done with the name.

    `entry` may say which `arguments` the calls get where they have none, and which they may not have (`refuses`).
    """
    if match.call is not None:
        calls: Sequence[Call] | None = [match.call]
        edits = [Edit(match.span, new), *import_edits(evidence, new.split(".")[0], match.span)]
        shown = new
    elif isinstance(match.node, ast.ImportFrom):
        alias = next(alias for alias in match.node.names if evidence.span_of(alias) == match.span)
        calls = _calls_of(alias, match.values["name"], evidence) if "arguments" in entry else []
        imported = _imported(match.node, alias, new, evidence, successor)
        if imported is None:
            return None
        edits, shown = imported
    else:
        return None
    if calls is None or any(_refuses(call, entry) for call in calls):
        return None
    missing = [(call, name, text) for call in calls for name, text in entry.get("arguments", {}).items() if name not in _given(call, entry)]
    added = [addition for call, name, text in missing for addition in add_argument(call, name, text).added]
    return WrittenSetting(tuple(edits), shown, tuple(added), entry.get("reason", ""))


def _imported(
    statement: ast.ImportFrom, alias: ast.alias, new: str, evidence: Evidence, successor: Successor
) -> tuple[list[Edit], str] | None:
    """Return the edits after which a statement, or one before it, imports a name's successor by the name that it had, and the import."""
    module, name = new.rsplit(".", 1)
    if statement.module == module:
        written = _written(name, alias)
        return [Edit(evidence.span_of(alias), written)], f"from {module} import {written}"
    moved = {}
    for one in statement.names:
        other = successor(one.name, statement)
        if other is not None and other.rsplit(".", 1)[0] == module:
            moved[id(one)] = _written(other.rsplit(".", 1)[1], one)
    line = f"from {module} import {', '.join(moved.values())}"
    span = evidence.span_of(statement)
    if len(moved) == len(statement.names):
        return [Edit(span, line)], line
    start = evidence.document.line_starts[evidence.document.line_at(span.start) - 1]
    indent = evidence.document.text[start : span.start]
    if indent.strip():
        return None
    newline = evidence.document.newline_at(span.start)
    return [Edit(Span(span.start, span.start), f"{line}{newline}{indent}"), *_without(statement.names, moved, evidence)], line


def _written(name: str, alias: ast.alias) -> str:
    bound = alias.asname or alias.name
    return name if bound == name else f"{name} as {bound}"


def _without(aliases: Sequence[ast.alias], moved: Mapping[int, str], evidence: Evidence) -> list[Edit]:
    """Return the edits that take some names of an import statement away, with a comma each."""
    spans = [evidence.span_of(alias) for alias in aliases]
    kept = [number for number, alias in enumerate(aliases) if id(alias) not in moved]
    edits, number = [], 0
    while number < len(aliases):
        if number in kept:
            number += 1
            continue
        following = next((other for other in kept if other > number), None)
        if following is None:
            edits.append(Edit(Span(spans[kept[-1]].end, spans[-1].end), ""))
            break
        edits.append(Edit(Span(spans[number].start, spans[following].start), ""))
        number = following
    return edits


def _calls_of(alias: ast.alias, name: str, evidence: Evidence) -> list[Call] | None:
    """Return the calls of an imported name, each once; None where something else is done with it."""
    bound = alias.asname or alias.name
    calls = {id(call.node): call for call in evidence.calls_of_name.get(name, ())}
    called = {id(call.node.func) for call in calls.values()}
    loads = [one for one in evidence.naming(bound) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
    return list(calls.values()) if all(id(load) in called for load in loads) else None


def _given(call: Call, entry: Mapping[str, Any]) -> set[str]:
    """Return the names of the arguments that a call has."""
    by_place = entry.get("parameters", ())[: len(call.node.args)]
    return {*by_place, *(keyword.arg for keyword in call.node.keywords if keyword.arg)}


def _refuses(call: Call, entry: Mapping[str, Any]) -> bool:
    """Return whether a call has arguments that the successor does not take, or that nobody can count."""
    is_open = any(isinstance(argument, ast.Starred) for argument in call.node.args) or any(k.arg is None for k in call.node.keywords)
    refused = {keyword.arg for keyword in call.node.keywords} & {*entry.get("refuses", ())}
    return bool(refused) or (is_open and "arguments" in entry) or len(call.node.args) > len(entry.get("parameters", call.node.args))
