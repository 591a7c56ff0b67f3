"""Attributes that the objects of a class no longer have, from `attributes` of `rules/platform/removed_names.yaml`.

A check because it finds reads of an attribute, of which no fact is kept.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mpslint.core.finding import Edit, Span
from mpslint.core.knowledge import platform_data
from mpslint.core.versions import VersionRange
from mpslint.facts.values import Call, Class
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.spelling import WrittenSetting


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each place that reads such an attribute: `self.name` in a class of the program, or of a variable that holds an object."""
    for name, row in platform_data("removed_names")["attributes"].items():
        exists = VersionRange.parse(row["exists"])
        if exists.matches(evidence.target.versions):
            continue
        package = exists.packages[0]
        library = f"{package} {evidence.target.shown(package)}" if package in evidence.target.versions else package
        values = {"written": name, "library": library, "becomes": row["becomes"]}
        seen: set[int] = set()
        for call in evidence.facts.calls if not _is_set(name, evidence) else ():
            if not any(one in row["of"] for one in call.names) or _has_it(name, row["of"], call):
                continue
            for node in _reads(name, call, evidence):
                if id(node) not in seen:
                    end = evidence.span_of(node).end
                    yield Match(Span(end - len(name), end), dict(values), call=call, context=call.context, node=node)
                seen.add(id(node))


def _is_set(name: str, evidence: Evidence) -> bool:
    """Return whether the program gives some object such an attribute other than by `self`, or asks whether there is one."""
    for node in (evidence.whole or evidence).nodes_beside(name):
        above = evidence.parents.get(node)
        is_named = isinstance(node, ast.Constant) and node.value == name and isinstance(above, ast.Call)
        if is_named and isinstance(above, ast.Call) and ast.unparse(above.func) in ("hasattr", "getattr", "setattr"):
            return True
        is_stored = isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store)
        if is_stored and not _is_of(node, "self"):
            return True
    return False


def _has_it(name: str, known: Iterable[str], call: Call) -> bool:
    """Return whether a class of the program has the attribute itself, or by a base that isn't known."""
    cls = call.result.cls if call.result is not None else None
    if not isinstance(cls, Class):
        return False
    if cls.lookup(name) is not None or cls.lookup("__getattr__") is not None or not set(cls.outside_bases()) <= set(known):
        return True
    nodes = [node for own in cls.lineage() for node in ast.walk(own.node)]
    return any(isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store) for node in nodes)


def _reads(name: str, call: Call, evidence: Evidence) -> Iterator[ast.Attribute]:
    """Yield what reads the attribute of the object that a call makes."""
    cls = call.result.cls if call.result is not None else None
    for own in cls.lineage() if isinstance(cls, Class) else ():
        for method in own.node.body:
            if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) and method.args.args:
                yield from _read_of(name, method.args.args[0].arg, ast.walk(method))
    holder = evidence.parents.get(call.node)
    if isinstance(holder, ast.Assign) and len(holder.targets) == 1 and isinstance(holder.targets[0], ast.Name):
        variable = holder.targets[0].id
        written = [node for node in evidence.nodes_beside(variable) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
        if written == [holder.targets[0]]:
            yield from _read_of(name, variable, evidence.nodes_beside(name))


def _read_of(name: str, holder: str, nodes: Iterable[ast.AST]) -> Iterator[ast.Attribute]:
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load) and _is_of(node, holder):
            yield node


def _is_of(node: ast.AST, holder: str) -> bool:
    """Return whether a node is an attribute of a variable."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == holder


def rewrite(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edit that reads the attribute which took the place of this one."""
    new = match.values["becomes"]
    return WrittenSetting((Edit(match.span, new),), f".{new}") if new else None
