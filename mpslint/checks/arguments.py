"""Arguments that a call does not take in the Target's versions, from `rules/platform/arguments.yaml`.

A check because what a call takes is compared with a table of versions for each of its arguments, also those that a parser or a file gives
it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.core.finding import Edit, Span
from mpslint.core.versions import Version, format_version
from mpslint.facts.values import Argument, Call, Function, Known
from mpslint.program.walk import called_name
from mpslint.rule.judge import Match
from mpslint.settings.arguments import ArgumentFact, fact_of, load_arguments
from mpslint.settings.evidence import Evidence
from mpslint.settings.spell import remove_argument
from mpslint.settings.spelling import WrittenSetting
from mpslint.source.document import Kind

CAUGHT = "builtins.TypeError"
"""What a call raises that is given an argument which it does not take."""
BY_PARSER = "ValueError"
"""What a parser of the command line raises for a word that none of its classes takes."""
KEEPS_OTHERS = ("return_remaining_strings", "allow_extra_keys")
"""Arguments of such a parser with which it raises nothing."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each argument of a kind. Option `kind`: renamed, removed, or later (it comes with a later version)."""
    for call, role in _calls(evidence):
        if call.context.in_handler or any(CAUGHT in caught for caught in call.context.handlers):
            continue  # the program finds out by itself which arguments there are
        for name, argument in call.keywords.items():
            fact = fact_of(role, call.names, name)
            if fact is None or fact.exists.matches(evidence.target.versions) or _is_own(call, name, evidence):
                continue
            if call.is_parsed and any(keyword.arg in KEEPS_OTHERS for keyword in call.node.keywords):
                continue
            node = _node_of(argument, evidence)
            if node is not None and _kind(fact, evidence.target.versions) == options["kind"]:
                yield _match(call, fact, node, argument, evidence)


def _calls(evidence: Evidence) -> Iterator[tuple[Call, str]]:
    """Yield the calls of which something may be known, each with the role in which a dialect reads it ('' for none)."""
    matched = {id(one.call) for one in evidence.file_plans.matched}
    yield from ((one.call, one.pattern.role) for one in evidence.file_plans.matched)
    owners = load_arguments()
    yield from ((call, "") for call in evidence.facts.calls if id(call) not in matched and any(name in owners for name in call.names))


def _kind(fact: ArgumentFact, versions: Mapping[str, Version]) -> str:
    later = any(compare in (">=", ">") and versions.get(package, ()) < number for package, compare, number in fact.exists.terms)
    return "later" if later else "renamed" if fact.use else "removed"


def _is_own(call: Call, name: str, evidence: Evidence) -> bool:
    """Return whether a class of the program takes the argument itself, as a field or in its own constructor, which hands it on otherwise
    (`super().__init__(**kwargs)`)."""
    cls = call.result.cls if call.result is not None else None
    if cls is None or call.result is None:
        return False
    taking = [one.node.args for base in cls.lineage() if isinstance(one := base.slots.get("__init__"), Function)]
    is_taken = any(name == one.arg for given in taking for one in (*given.posonlyargs, *given.args, *given.kwonlyargs))
    above = [one for one in evidence.calls_of_method.get("__init__", ()) if getattr(one.receiver, "slots", None) is call.result.slots]
    is_handed_on = any(one.keywords[name].unpacked for one in above if name in one.keywords)
    return name in cls.fields or name in call.inherited or is_taken or (bool(taking) and not is_handed_on)


def _node_of(argument: Argument, evidence: Evidence) -> ast.AST | None:
    """Return the keyword, the key of the dict or the words of a command that name an argument; its value in a configuration file."""
    if argument.keyword is not None:
        return argument.keyword
    parent = evidence.parents.get(argument.node) if argument.node is not None else None
    if parent is None and argument.node is not None and _is_outside_python(argument.node, evidence):
        return argument.node
    if isinstance(parent, ast.Dict):
        return next((key for key, value in zip(parent.keys, parent.values, strict=True) if value is argument.node), None)
    return parent if isinstance(parent, ast.keyword) else None


def _is_outside_python(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether what wrote an argument lies in a file of the run that is no Python."""
    start = evidence.span_of(node).start
    return any(part.document.kind is not Kind.PYTHON and part.span.start <= start < part.span.end for part in evidence.document.parts)


def _match(call: Call, fact: ArgumentFact, node: ast.AST, argument: Argument, evidence: Evidence) -> Match:
    package = next(iter(fact.exists.packages))
    values = {
        "written": fact.name,
        "value": argument.value.value if isinstance(argument.value, Known) else None,
        "called": call.names[0].rsplit(".", 1)[-1] if call.names else call.method,
        "library": f"{package} {evidence.target.shown(package)}",
        "use": fact.use if fact.use else fact.before,
        "note": f" {fact.note}" if fact.note else "",
        "since": next((format_version(number) for _, compare, number in fact.exists.terms if compare in (">=", ">")), ""),
        "raised": BY_PARSER if call.is_parsed else fact.raises,
        "fact": fact,
        "literal": isinstance(argument.node, ast.Constant) and not (isinstance(argument.node.value, str) and argument.node.value.isdigit()),
    }
    place = evidence.span_of(node)
    return Match(place, values, call=call, context=call.context, node=node)


def rewrite(match: Match, evidence: Evidence) -> WrittenSetting | None:
    """Return the edit that gives the argument its new name, writes what replaces its value, or takes it away."""
    fact: ArgumentFact = match.values["fact"]
    if _is_handed_on(match, evidence):
        return None
    if fact.rewrite and not match.values["literal"]:
        return None  # what replaces it depends on its value, which an option, or another machine, makes another one
    replaced = fact.rewrite.get(str(match.values["value"]).lower())
    if replaced == "" or (replaced is None and fact.drop):
        return remove_argument(evidence, match.call, match.node) if match.call is not None and match.node is not None else None
    if replaced is not None:
        return WrittenSetting((Edit(match.span, replaced),), replaced) if isinstance(match.node, ast.keyword) else None
    new = match.values["use"]
    if not new or (match.call is not None and new in match.call.keywords):
        return None
    written = evidence.document.text[match.span.start : match.span.end]
    shift = 2 if written.startswith("--") else 1 if isinstance(match.node, ast.Constant) else 0
    start = match.span.start + shift
    if evidence.document.text[start : start + len(fact.name)] != fact.name:
        return None
    if shift == 1 and _is_read(fact.name, evidence):
        return None
    is_asked = all(evidence.target.choices[term[0]].is_asked for term in fact.exists.terms)
    return WrittenSetting((Edit(Span(start, start + len(fact.name)), new),), f"{new}=", reason="" if is_asked else fact.reason)


def _is_handed_on(match: Match, evidence: Evidence) -> bool:
    """Return whether a function of the program is given the argument, and hands it on with what else it may read of it."""
    above = evidence.parents.get(match.node) if isinstance(match.node, ast.keyword) else None
    if match.call is None or not isinstance(above, ast.Call) or above is match.call.node:
        return False
    return not (isinstance(above.func, ast.Name) and above.func.id == "dict")


def _is_read(key: str, evidence: Evidence) -> bool:
    """Return whether code of the run reads, or sets, a key of some mapping by its name: the mapping is not for the call alone."""
    whole = evidence.whole or evidence
    for node in (one for one in whole.naming(key) if isinstance(one, ast.Constant)):
        above = whole.parents.get(node)
        is_asked = isinstance(above, ast.Call) and node in above.args[:1] and called_name(above) in ("get", "pop", "setdefault")
        if is_asked or (isinstance(above, ast.Subscript) and above.slice is node):
            return True
    return False
