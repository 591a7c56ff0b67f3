"""A device that a program only hands to libraries of which nothing is known: whether they take the Mac's GPU is theirs to say.

A check because it follows every use of a device to the packages that get it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._uses import call_given, uses_of
from mpslint.core.knowledge import platform_data
from mpslint.facts.values import Instance
from mpslint.program.platform import load_platform
from mpslint.rule.judge import Match
from mpslint.settings.dialects import load_dialects
from mpslint.settings.evidence import Evidence
from mpslint.source.files import is_beside


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each choice between CUDA and the CPU whose every use is an argument of a call of such a library."""
    whole = evidence.whole or evidence
    names = {id(call.node): call.name for call in whole.facts.calls if not isinstance(call.receiver, Instance)}
    questions = load_platform().cuda_questions
    choices = [one for one in whole.facts.choices if one.source in questions and isinstance(one.node, ast.IfExp)]
    given: dict[str, list[str]] = {}
    for choice in choices:  # a notebook chooses anew in each part, by the same name
        uses = uses_of(choice.node, whole)
        given.setdefault(_name_of(choice.node, whole), []).extend(names.get(id(call_given(use, whole)), "") for use in uses or ())
    for choice in choices:
        called = given[_name_of(choice.node, whole)]
        if called and all(_is_unknown(name, whole) for name in called):
            yield Match(whole.span_of(choice.node), {"written": called[0]}, context=choice.context, node=choice.node)


def _name_of(choice: ast.AST, evidence: Evidence) -> str:
    """Return the name that a choice is given; its place where it has none."""
    statement = evidence.above(choice, (ast.stmt,))
    target = ast.unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    return target or str(evidence.span_of(choice))


def _is_unknown(name: str, evidence: Evidence) -> bool:
    """Return whether a qualified name is of a package that is neither Python's, nor the project's, nor known to take the Mac's GPU."""
    root = name.partition(".")[0]
    if not root or "." not in name or root in sys.stdlib_module_names:
        return False
    known = root in load_dialects().roots or root in platform_data("cuda")["devices"]["roots"]
    paths = {part.document.path for part in evidence.document.parts} or {evidence.document.path}
    return not known and not any(is_beside(root, path, is_package=False) for path in paths)
