"""Calls of a tokenizer where rows are prepared: in functions that `map` applies, or in methods of the program's own Trainers.

A check because no condition asks in which functions a call is made.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.facts.values import Call, FunctionNode, Known
from mpslint.program.walk import called_name, walk
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.roles import roles_that
from mpslint.settings.sliced import mapped_function

FEW = 256
"""Groups of fewer rows have too many lengths."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield such calls.

    Options: `padding`, what they are given for it; `lacks`, arguments of which they have none, in functions that cut nothing themselves;
    `groups`, only in functions that are given large groups of rows; `methods`, a regular expression of the names of methods by which a
    class that derives from a Trainer prepares its rows, to look in these.
    """
    within = dict(_methods(evidence, re.compile(options["methods"])) if "methods" in options else _mapped(evidence, options))
    for call in evidence.facts.calls if within else ():
        outer = next((within[one] for one in call.context.functions if one in within), None)
        is_meant = "methods" in options or called_name(call.node).endswith("tokenizer")
        if outer is not None and is_meant and _is_asked(call, options):
            plan = evidence.plan_with.get(id(outer), next(iter(evidence.plans), None))
            values = {"written": ast.unparse(call.node.func)}
            yield Match(evidence.span_of(call.node), values, None, call, plan, outer.context, (), call.node)


def _mapped(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[tuple[FunctionNode, Call]]:
    for call in evidence.calls_of_method.get("map", ()):
        function = mapped_function(call)
        if function is None or ("groups" in options and not _in_large_groups(call)):
            continue
        if "lacks" not in options or not any(isinstance(node, ast.Slice) for node in walk(function.node)):
            yield function.node, call


def _methods(evidence: Evidence, names: re.Pattern[str]) -> Iterator[tuple[FunctionNode, Call]]:
    for call in (m.call for m in evidence.file_plans.matched if m.pattern.role in roles_that("trains")):
        own = call.result.cls if call.result is not None else None
        methods = [one for cls in (own.lineage() if own else ()) for one in cls.node.body if isinstance(one, ast.FunctionDef)]
        yield from ((one, call) for one in methods if names.search(one.name))


def _in_large_groups(call: Call) -> bool:
    batched, size = call.keywords.get("batched"), call.keywords.get("batch_size")
    if batched is None or not (isinstance(batched.value, Known) and batched.value.value is True):
        return False
    number = size.value.value if size is not None and isinstance(size.value, Known) else None
    return not isinstance(number, int) or number <= 0 or number >= FEW


def _is_asked(call: Call, options: Mapping[str, Any]) -> bool:
    """Return whether a call is given, and isn't given, what the options say."""
    padding = call.keywords.get("padding")
    if "padding" in options and not (
        padding is not None and isinstance(padding.value, Known) and padding.value.value in options["padding"]
    ):
        return False
    is_bare = bool(call.node.args) and not call.is_open and call.keywords.keys().isdisjoint(options.get("lacks", ()))
    return "lacks" not in options or is_bare
