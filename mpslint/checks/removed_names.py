"""Names that a package has no more in the Target's versions, from `rules/platform/removed_names.yaml`.

A check because it holds imports, calls and methods to a table of versions, and knows what took their place.
"""

from __future__ import annotations

import ast
import fnmatch
import functools
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._renamed import renamed
from mpslint.core.finding import Edit, Span
from mpslint.core.knowledge import platform_data
from mpslint.core.versions import Version, VersionRange
from mpslint.facts.values import Call, Instance, Symbol, alternatives_of
from mpslint.program.platform import load_platform
from mpslint.rule.guards import HARMLESS_HANDLERS, is_caught
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.spelling import WrittenSetting
from mpslint.source.files import is_beside

ALL = "*"
"""The last part of a name that stands for all that a module had."""

OTHERS = HARMLESS_HANDLERS | {"builtins.StopIteration"}
"""What doesn't catch the AttributeError of a method that isn't there; StopIteration is what the end of an iterator raises."""

DEEPEST = 10
"""Parts of the name of a module that are looked up: a chain of calls has as many as it is long."""
Gone = Mapping[str, tuple[str, Mapping[str, Any]]]
"""Removed names, each with its package and its row in the table of removed names."""


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
        for alias, module, imported in _names_of(fact.node):
            name = _known(imported, gone)
            if name is not None and not _is_apart(module) and not is_beside(name.split(".")[0], evidence.document.path):
                values = _values(name, gone, evidence)
                if name != imported:  # the table lists the whole module, so that is what the finding names
                    values["written"] = module
                yield Match(evidence.span_of(alias), values, context=fact.context, node=fact.node)


def _names_of(node: ast.stmt) -> Iterator[tuple[ast.alias, str, str]]:
    """Yield what an import names, each with the module that it is in, or is, as written, and with its qualified name."""
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield from ((alias, node.module, load_platform().imported(node.module, alias.name)) for alias in node.names)
    elif isinstance(node, ast.Import):
        for alias in node.names:
            package, _, name = alias.name.rpartition(".")
            yield alias, alias.name, load_platform().imported(package, name)


def _called_by_name(gone: Gone, evidence: Evidence) -> Iterator[Match]:
    """Yield each call of a name as an attribute of its package, and not of a part of it that is imported, which is told of there."""
    for called, calls in evidence.calls_of_name.items():
        name = _known(called, gone)
        if name is None:
            continue
        for call in calls:
            written = ast.unparse(call.node.func)
            if not isinstance(call.node.func, ast.Attribute) or call.is_parsed or _is_apart(written):
                continue
            if name == called or written.count(".") > 1:
                values = _values(name, gone, evidence) | ({} if name == called else {"written": written})
                yield Match(evidence.span_of(call.node.func), values, call=call, context=call.context, node=call.node)


def _known(name: str, gone: Gone) -> str | None:
    """Return the removed name that a qualified name is, or whose module it was in; None where it is none."""
    if name in gone:
        return name
    parts = name.split(".")[:DEEPEST]
    modules = (".".join([*parts[:count], ALL]) for count in range(len(parts), 1, -1))
    return next((module for module in modules if module in gone), None)


def _is_apart(name: str) -> bool:
    """Return whether a name as it is written lies in a module whose names are not those of the package, though they are called alike."""
    return any(f"{module}." in f"{name}." for module in platform_data("removed_names")["apart"])


def _methods(gone: Gone, evidence: Evidence) -> Iterator[Match]:
    """Yield each call of a method, at its name, unless what it raises is caught."""
    held = {fact.name.partition(".")[0] for fact in evidence.facts.imports}
    for name in (name for name, (package, _) in gone.items() if package in held):
        for call in evidence.calls_of_method.get(name, ()):
            if is_caught(call.context, OTHERS) or not _is_received(call, gone[name][1], evidence):
                continue
            end = evidence.span_of(call.node.func).end
            yield Match(Span(end - len(name), end), _values(name, gone, evidence), call=call, context=call.context, node=call.node)


def _is_received(call: Call, entry: Mapping[str, Any], evidence: Evidence) -> bool:
    """Return whether the object whose method is called is one that had it; any is where no other classes have such a method."""
    known = entry.get("receivers")
    if known is None:
        return True
    if f"def {call.method}(" in evidence.document.text:
        return False
    objects = alternatives_of(call.receiver) if call.receiver is not None else ()
    patterns = [known] if isinstance(known, str) else known
    names = [one.name for one in objects if isinstance(one, (Instance, Symbol))]
    return any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _values(name: str, gone: Gone, evidence: Evidence) -> dict[str, str]:
    package, entry = gone[name]
    library = entry.get("library") or (f"{package} {evidence.target.shown(package)}" if package in evidence.target.choices else package)
    return {
        "name": name,
        "written": name.rsplit(".", 1)[-1],
        "library": library,
        "instead": entry.get("instead", "Remove it."),
        "of": entry.get("of", "Tokenizers"),
    }


@functools.lru_cache(maxsize=64)
def _gone(kind: str, versions: tuple[tuple[str, Version], ...]) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return the names that some versions do not have, each with its package and what is known of it."""
    known, found = dict(versions), {}
    for name, entry in platform_data("removed_names")[kind].items():
        exists = VersionRange.parse(entry["exists"])
        if not exists.matches(known):
            found[name] = (exists.terms[0][0], entry)
    return found


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
    """Return the edit that calls a tokenizer itself, or another method, in place of one that did the same; None for any other name."""
    entry = platform_data("removed_names")["methods"].get(match.values["written"])
    if entry is not None and entry.get("becomes"):
        return WrittenSetting((Edit(match.span, entry["becomes"]),), entry["becomes"])
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
