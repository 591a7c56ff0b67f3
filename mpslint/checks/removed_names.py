"""Names that a package, or an object of one of its classes, has no more in the Target's versions, from `rules/platform/removed_names.yaml`.

A check because it holds imports, calls, methods and attributes to a table of versions, and rewrites names to what took their place.
"""

from __future__ import annotations

import ast
import fnmatch
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from mpslint.core.finding import Edit, Span
from mpslint.core.knowledge import platform_data
from mpslint.core.versions import Version, VersionRange
from mpslint.facts.values import UNKNOWN, Call, Instance, Known, Symbol, Value, alternatives_of
from mpslint.program.platform import load_platform
from mpslint.program.walk import called_name
from mpslint.rule.guards import HARMLESS_HANDLERS, is_caught
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.importing import import_edits
from mpslint.settings.spell import add_argument
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
Successor = Callable[[str, ast.ImportFrom], str | None]
"""The qualified name that takes the place of one that a statement imports by this name; None for a name that stays."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each import, or call by the package's name, of such a name.

    Option `kind`: names; or methods, of which each call is found, or attributes, of which each place that reads one is.
    """
    gone = _gone(options["kind"], tuple(evidence.target.versions.items()))
    for found in {"names": (_imported, _called_by_name), "methods": (_methods,), "attributes": (_attributes,)}[options["kind"]]:
        yield from found(gone, evidence)


def _imported(gone: Gone, evidence: Evidence) -> Iterator[Match]:
    """Yield each import of a name, unless the package is the repository's own."""
    for fact in evidence.facts.imports:
        for alias, module, imported in _names_of(fact.node):
            name = _known(imported, gone)
            if name is not None and not _is_apart(module) and not is_beside(name.split(".")[0], evidence.document.path):
                values = _values(name, gone, evidence)
                if name != imported:  # the table lists the whole module, so that is what the finding names
                    values["written"] = imported if name == f"{imported}.{ALL}" else module
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
    objects = alternatives_of(call.receiver) if call.receiver is not None else ()
    names = [one.name for one in objects if isinstance(one, (Instance, Symbol))]
    if _are_named([*names, *_loaded(objects)], entry.get("kept", ())):
        return False
    known = entry.get("receivers")
    if known is None:
        return not _is_foreign(names)
    if f"def {call.method}(" in evidence.document.text:
        return False
    return _are_named(names, [known] if isinstance(known, str) else known)


def _loaded(objects: Iterable[Value]) -> Iterator[str]:
    """Yield what is loaded for objects, beside the package that loads it: `transformers.microsoft/layoutlmv3-base`."""
    for one in objects:
        made = one.owner if isinstance(one, Instance) and one.call is None and isinstance(one.owner, Instance) else one
        given = made.call.given[:1] if isinstance(made, Instance) and made.call is not None else ()
        yield from (f"{made.name.split('.')[0]}.{name.value}" for name in given if isinstance(made, Instance) and isinstance(name, Known))


def _is_foreign(names: Sequence[str]) -> bool:
    """Return whether an object is of a package of which nothing is known."""
    known = {name for one in platform_data("packages")["packages"] for name in one["called"]}
    return bool(names) and not any(package in known or package in ("", "?") for package in (name.split(".")[0] for name in names))


def _are_named(names: Iterable[str], patterns: Iterable[str]) -> bool:
    """Return whether one of the names matches one of the patterns."""
    return any(fnmatch.fnmatchcase(name.lower(), pattern.lower()) for name in names for pattern in patterns)


def _attributes(gone: Gone, evidence: Evidence) -> Iterator[Match]:
    """Yield each place that reads an attribute of an object of a class that had it, to which the program doesn't give it."""
    for name, (_, entry) in gone.items():
        if _is_asked_for(name, evidence):
            continue
        for read, nodes in evidence.facts.uses.reads.items():
            owner = read.owner if isinstance(read, Instance) else None
            classes = set() if owner is None else set(owner.cls.outside_bases() if owner.cls is not None else (owner.name,))
            if owner is None or not classes or not classes <= set(entry["of"]):
                continue
            for node in (one for one in nodes if isinstance(one, ast.Attribute) and one.attr == name):
                end, values = evidence.span_of(node).end, {**_values(name, gone, evidence), "becomes": entry["becomes"]}
                context = owner.call.context if owner.call is not None else None
                yield Match(Span(end - len(name), end), values, call=owner.call, context=context, node=node)


def _is_asked_for(name: str, evidence: Evidence) -> bool:
    """Return whether the program asks by its name whether there is such an attribute."""
    whole = evidence.whole or evidence
    above = (whole.parents.get(node) for node in whole.naming(name) if isinstance(node, ast.Constant))
    return any(one is not None and called_name(one) in ("hasattr", "getattr", "setattr") for one in above)


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
    if not any(isinstance(one, (Instance, Symbol)) and "." in one.name for one in alternatives_of(match.call.receiver or UNKNOWN)):
        return None  # whatever the object is, calling it may do something else
    func, renamed, edits = match.call.node.func, entry.get("arguments", {}), []
    for keyword in match.call.node.keywords:
        written = f"{keyword.arg}={ast.unparse(keyword.value)}"
        if written in renamed:
            edits.append(Edit(evidence.span_of(keyword), renamed[written]))
        elif any(old.startswith(f"{keyword.arg}=") for old in renamed):
            return None
    start = evidence.span_of(func.value).end
    return WrittenSetting((Edit(Span(start, match.span.end), ""), *edits), f"{evidence.text_of(func.value)}(...)")


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
        imported = _import_of(match.node, alias, new, evidence, successor)
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


def _import_of(
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
