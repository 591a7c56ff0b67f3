"""Calls of a tokenizer where rows are prepared: in functions that `map` applies, or in methods of the program's own Trainers.

A check because no condition asks in which functions a call is made.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.facts.values import Call, Known
from mpslint.program.walk import called_name
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.settings.roles import roles_that

FEW = 256
"""Groups of fewer rows have too many lengths."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield such calls.

    Options: `padding`, what they are given for it; `lacks`, arguments of which they have none, in functions that cut nothing themselves;
    `groups`, only in functions that are given large groups of rows; `methods`, a regular expression of the names of methods by which a
    class that derives from a Trainer prepares its rows, to look in these.
    """
    for call, outer in _in_methods(evidence, options["methods"]) if "methods" in options else _mapped(evidence, options):
        padding, lacks = call.keywords.get("padding"), options.get("lacks")
        is_padded = padding is not None and isinstance(padding.value, Known) and padding.value.value in options.get("padding", ())
        is_bare = bool(call.node.args) and not call.is_open and call.keywords.keys().isdisjoint(lacks or ())
        if is_padded or (lacks and is_bare):
            plan = evidence.plan_with.get(id(outer), next(iter(evidence.plans), None))
            values = {"written": ast.unparse(call.node.func)}
            yield Match(evidence.span_of(call.node), values, None, call, plan, outer.context, (), call.node)


def _mapped(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[tuple[Call, Call]]:
    for one in evidence.facts.preparations:
        is_asked = one.maker.method == "map" and not ("lacks" in options and one.cuts)
        if is_asked and ("groups" not in options or _in_large_groups(one.maker)):
            yield from ((call, one.maker) for call in one.calls if called_name(call.node).endswith("tokenizer"))


def _in_methods(evidence: Evidence, names: str) -> Iterator[tuple[Call, Call]]:
    for call in (m.call for m in evidence.file_plans.matched if m.pattern.role in roles_that("trains")):
        own = call.result.cls if call.result is not None else None
        methods = {one for cls in (own.lineage() if own else ()) for one in cls.node.body if re.search(names, getattr(one, "name", ""))}
        yield from ((one, call) for one in evidence.facts.calls if not methods.isdisjoint(one.context.functions))


def _in_large_groups(call: Call) -> bool:
    batched, size = (given.value if (given := call.keywords.get(key)) is not None else Known(None) for key in ("batched", "batch_size"))
    number = size.value if isinstance(size, Known) else None
    return isinstance(batched, Known) and batched.value is True and (not isinstance(number, int) or number <= 0 or number >= FEW)
