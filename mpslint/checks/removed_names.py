"""Names that a package has no more in the Target's versions, from `rules/platform/removed_names.yaml`."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mpslint.checks._renamed import renamed
from mpslint.core.finding import Edit, Span
from mpslint.core.knowledge import platform_data
from mpslint.core.versions import Version, VersionRange, format_version
from mpslint.program.platform import load_platform
from mpslint.rule.check import Gate
from mpslint.rule.guards import is_caught
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.spelling import WrittenSetting
from mpslint.source.document import Document
from mpslint.source.files import is_beside
from mpslint.target.target import Target

Gone = Mapping[str, tuple[str, Mapping[str, Any]]]
"""Removed names, each with its package and its row in the table of removed names."""


def _ways(options: Mapping[str, Any]) -> Iterator[tuple[Iterable[str], ...]]:
    """Yield, for each package, its name and the names that it lost: one of each stands in a file that it is found in."""
    for package, lost in _by_package(options["kind"]).items():
        yield [package], lost


def _may_find(document: Document, options: Mapping[str, Any], target: Target) -> bool:
    """Return whether a Document holds a name that these versions do not have, and its package's."""
    held = document.code_identifiers
    gone = _gone(options["kind"], tuple(target.versions.items()))
    return any(_root(name, package) in held and name.rsplit(".", 1)[-1] in held for name, (package, _) in gone.items())


GATE = Gate(names=lambda options: platform_data("removed_names")[options["kind"]], ways=_ways, may_find=_may_find)


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each import, or call by the package's name, of such a name; option `kind`: names, or methods, of which each call is found."""
    gone = _gone(options["kind"], tuple(evidence.target.versions.items()))
    if options["kind"] == "names":
        yield from _imported(gone, evidence)
        yield from _called_by_name(gone, evidence)
    else:
        yield from _methods(gone, evidence)


def _imported(gone: Gone, evidence: Evidence) -> Iterator[Match]:
    """Yield each import of a name, unless the package is the repository's own."""
    for fact in evidence.facts.imports:
        node = fact.node
        if not isinstance(node, ast.ImportFrom) or not node.module or node.level:
            continue
        for alias in node.names:
            name = load_platform().imported(node.module, alias.name)
            if name in gone and not _is_apart(node.module) and not is_beside(name.split(".")[0], evidence.document.path):
                yield Match(evidence.span_of(alias), _values(name, gone, evidence), context=fact.context, node=node)


def _called_by_name(gone: Gone, evidence: Evidence) -> Iterator[Match]:
    """Yield each call of a name as an attribute of its package."""
    for name in gone:
        for call in evidence.calls_of_name.get(name, ()):
            if isinstance(call.node.func, ast.Attribute) and not call.is_parsed and not _is_apart(ast.unparse(call.node.func)):
                span, values = evidence.span_of(call.node.func), _values(name, gone, evidence)
                yield Match(span, values, call=call, context=call.context, node=call.node)


def _is_apart(name: str) -> bool:
    """Return whether a name as it is written lies in a module whose names are not those of the package, though they are called alike."""
    return any(f"{module}." in f"{name}." for module in platform_data("removed_names")["apart"])


def _methods(gone: Gone, evidence: Evidence) -> Iterator[Match]:
    """Yield each call of a method, at its name, unless what it raises is caught."""
    held = evidence.document.code_identifiers
    for name in (name for name, (package, _) in gone.items() if package in held):
        for call in evidence.calls_of_method.get(name, ()):
            if is_caught(call.context):
                continue
            end = evidence.span_of(call.node.func).end
            yield Match(Span(end - len(name), end), _values(name, gone, evidence), call=call, context=call.context, node=call.node)


def _values(name: str, gone: Gone, evidence: Evidence) -> dict[str, str]:
    package, entry = gone[name]
    version = evidence.target.versions.get(package)
    library = entry.get("library") or (f"{package} {format_version(version)}" if version is not None else package)
    return {"name": name, "written": name.rsplit(".", 1)[-1], "library": library, "instead": entry.get("instead", "Remove it.")}


@functools.lru_cache(maxsize=64)
def _gone(kind: str, versions: tuple[tuple[str, Version], ...]) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return the names that some versions do not have, each with its package and what is known of it."""
    known, found = dict(versions), {}
    for name, entry in platform_data("removed_names")[kind].items():
        exists = VersionRange.parse(entry["exists"])
        if not exists.matches(known):
            found[name] = (exists.terms[0][0], entry)
    return found


@functools.lru_cache(maxsize=2)
def _by_package(kind: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, entry in platform_data("removed_names")[kind].items():
        root = _root(name, VersionRange.parse(entry["exists"]).terms[0][0])
        found.setdefault(root, []).append(name.rsplit(".", 1)[-1])
    return found


def _root(name: str, package: str) -> str:
    """Return the word that stands in every file that has a name: the module that it is imported from; for a method, the package's."""
    return name.split(".")[0] if "." in name else package


def rewrite(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edits that name what took the place of a name, or call a tokenizer itself; None where nothing did the same."""
    if match.values["name"] not in platform_data("removed_names")["names"]:
        return _called_itself(match, evidence)
    gone = _gone("names", tuple(evidence.target.versions.items()))
    new = _successor(match.values["name"], gone)
    if new is None:
        return None

    def successor(name: str, statement: ast.ImportFrom) -> str | None:
        module = statement.module or ""
        return None if _is_apart(module) else _successor(load_platform().imported(module, name), gone)

    return renamed(match, evidence, new, gone[match.values["name"]][1], successor)


def _successor(name: str, gone: Gone) -> str | None:
    """Return the qualified name that replaces a removed one; None where nothing does."""
    becomes = gone[name][1].get("becomes") if name in gone else None
    return name.replace(becomes[0], becomes[1]) if becomes else None


def _called_itself(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edit that calls a tokenizer itself in place of a method that did the same; None for any other name."""
    entry = platform_data("removed_names")["methods"].get(match.values["written"])
    if entry is None or not entry.get("call") or match.call is None or not isinstance(match.call.node.func, ast.Attribute):
        return None
    func, renamed, edits = match.call.node.func, entry.get("arguments", {}), []
    for keyword in match.call.node.keywords:
        written = f"{keyword.arg}={ast.unparse(keyword.value)}"
        if written in renamed:
            edits.append(Edit(evidence.span_of(keyword), renamed[written]))
        elif any(old.startswith(f"{keyword.arg}=") for old in renamed):
            return None
    start = evidence.span_of(func.value).end
    return WrittenSetting((Edit(Span(start, match.span.end), ""), *edits), f"{evidence.text_of(func.value)}(...)")
