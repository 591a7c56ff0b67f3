"""Trainers of the program whose training loop is its own, so that what the library's loop does, such as autocast, isn't done.

A check because it asks what methods of a class hand on to those that they override.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.core.knowledge import platform_data
from mpslint.facts.values import Class, Function
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each call that makes such a Trainer. Option `without`: what its class doesn't mention."""
    table = platform_data("overrides")["trainers"]
    classes = table["classes"]
    for call in evidence.facts.calls:
        cls = call.result.cls if call.result is not None else None
        if cls is None or not any(name in classes for name in call.names) or not any(is_replaced(name, cls) for name in table["loops"]):
            continue
        if not any(re.search(options["without"], ast.unparse(one.node)) for one in cls.lineage()):
            yield Match(evidence.span_of(call.node), call=call, context=call.context, node=call.node)


def is_replaced(name: str, cls: Class) -> bool:
    """Return whether a method is the program's own and doesn't hand on to the Trainer's."""
    method = cls.lookup(name)
    return method is not None and not (isinstance(method, Function) and f"super().{name}(" in ast.unparse(method.node))
