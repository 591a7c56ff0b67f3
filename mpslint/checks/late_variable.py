"""Environment variables that are set when PyTorch has read them already: at its import, or when the GPU was first used.

A check because it compares the order in which variables, imports and uses of the GPU are reached.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any

from mpslint.core.finding import Edit, Related, Span
from mpslint.core.knowledge import platform_data
from mpslint.facts.facts import EnvironmentWrite, Import
from mpslint.facts.values import Known
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.importing import bound_names
from mpslint.settings.spelling import WrittenSetting

PLACING = ("placement", "factory", "default_device")
"""The roles of what may be the first use of the GPU."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each variable of `names` that is set too late. Option `after`: import (of torch) or use (of the GPU).

    With `finds: in_force` each that is read and isn't 0; with `finds: harmless` each of which the run shows that being late loses nothing.
    """
    finds = options.get("finds", "late")
    for write in evidence.facts.environment:
        if write.name not in options["names"]:
            continue
        earlier = _earlier(evidence, write, options)
        if finds == "in_force" and earlier is None and not _is_zero(write):
            yield Match(Span(write.start, write.end), {"written": write.name}, context=write.context)
        loses_nothing = earlier is None or _is_zero(write) or _was_set(evidence, write, options)
        if finds == "harmless" and loses_nothing:
            yield Match(Span(write.start, write.end), {"written": write.name}, context=write.context)
        if finds == "late" and earlier is not None and not loses_nothing:
            where = evidence.document.place(evidence.span_of(earlier).start).words
            related = (Related(evidence.span_of(earlier), "PyTorch reads it here"),)
            values = {"written": write.name, "where": where, "write": write, "earlier": earlier}
            yield Match(Span(write.start, write.end), values, context=write.context, related=related)


def is_in_force(evidence: Evidence, name: str) -> bool:
    """Return whether a variable that PyTorch reads at its import is set in time, and not to 0."""
    return any(find(evidence, {"after": "import", "names": [name], "finds": "in_force"}))


def _earlier(evidence: Evidence, write: EnvironmentWrite, options: Mapping[str, Any]) -> ast.AST | None:
    """Return what comes too early for a write; None where nothing does."""
    if write.style not in ("python", "magic"):
        return None
    return _import_before(evidence, write) if options["after"] == "import" else _use_before(evidence, write)


def _is_zero(write: EnvironmentWrite) -> bool:
    """Return whether a variable is set to what it is without being set."""
    return isinstance(write.value, Known) and re.fullmatch(r"\s*[+-]?0+\s*", str(write.value.value)) is not None


def _was_set(evidence: Evidence, write: EnvironmentWrite, options: Mapping[str, Any]) -> bool:
    """Return whether the same variable is set in time elsewhere in the run, so that a later write changes nothing."""
    others = (one for one in evidence.facts.environment if one is not write and one.name == write.name and not _is_zero(one))
    return any(_earlier(evidence, one, options) is None for one in others)


def _import_before(evidence: Evidence, write: EnvironmentWrite) -> ast.stmt | None:
    """Return the first import that brings torch, where it ran before a write; where its order isn't known, where it stands above it."""
    ran = evidence.facts.imports if write.imports_before < 0 else evidence.facts.imports[: write.imports_before]
    imports = [fact for fact in ran if _brings_torch(fact) and not fact.context.functions]
    if write.imports_before >= 0:
        return imports[0].node if imports else None
    first = min(imports, key=lambda fact: evidence.span_of(fact.node).start, default=None)
    return first.node if first is not None and evidence.span_of(first.node).start < write.start else None


def _brings_torch(fact: Import) -> bool:
    known = platform_data("environment")
    package, *_ = names = [*accumulate(fact.name.split("."), "{}.{}".format)]
    by_name = package in known["import_torch_by_name"] and isinstance(fact.node, ast.ImportFrom)
    return by_name or not set(names).isdisjoint(known["import_torch"])


def _use_before(evidence: Evidence, write: EnvironmentWrite) -> ast.AST | None:
    """Return the first call of the module itself that puts something on the GPU, where it stands above a write."""
    placed = [m for m in evidence.file_plans.matched if m.pattern.role in PLACING and m.devices == {"mps"}]
    calls = [m.call for m in placed if not m.call.context.functions and not m.call.context.guards]
    first = min(calls, key=lambda call: evidence.span_of(call.node).start, default=None)
    return first.node if first is not None and evidence.span_of(first.node).end < write.start else None


def rewrite(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edits that move the line of a variable above the import."""
    write: EnvironmentWrite = match.values["write"]
    document, earlier = evidence.document, match.values["earlier"]
    line = document.line_at(write.start)
    text = document.line_text(line)
    statement = text.strip()
    if document.line_at(write.end) != line or text[:1].isspace() or (write.context is not None and write.context.functions):
        return None
    if write.style == "python" and write.start != document.line_starts[line - 1]:
        return None
    if earlier not in evidence.parsed.body:
        return None
    newline = document.newline_at(write.start)
    target = document.line_starts[earlier.lineno - 1]
    module = statement.split(".")[0]
    is_bound = write.style == "magic" or module in bound_names(evidence, Span(target, target), [module])
    needs = "" if is_bound else f"import {module}{newline}"
    moved = Edit(Span(target, target), f"{needs}{statement}{newline}")
    return WrittenSetting((moved, Edit(document.lines_of(Span(write.start, write.end)), "")), f"above the import, {match.values['where']}")
