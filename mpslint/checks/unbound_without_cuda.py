"""Names that only a branch for CUDA gives a value, and that the program reads whichever branch it takes.

A check because it asks which branch would have given a name a value.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._uses import FUNCTIONS
from mpslint.core.finding import Related
from mpslint.facts.facts import NameRead
from mpslint.program.any_round import SCOPES
from mpslint.program.functions import own_names
from mpslint.program.platform import load_platform
from mpslint.program.walk import at_once, bound_by
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence

PERHAPS = (ast.IfExp, ast.BoolOp, *SCOPES)
"""What may leave the code in it out."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield each such name where it is read first, after the branch."""
    told: set[ast.AST] = set()
    for read in () if evidence.facts.uses.is_vague else evidence.facts.unbound:
        branch = _branch_that_binds(read, evidence)
        if branch is None or branch in told or not _is_certain(read.node, evidence):
            continue
        if any(_is_changed_by(one, read.node.id) for one in evidence.naming(read.node.id)):
            continue
        told.add(branch)
        function = evidence.above(read.node, FUNCTIONS)
        is_local = isinstance(function, FUNCTIONS) and own_names(function) is read.home.own_names
        error = "UnboundLocalError" if is_local else "NameError"
        related = Related(evidence.span_of(branch.test), f"{read.node.id} is assigned only under this test")
        values = {"written": read.node.id, "error": error}
        yield Match(evidence.span_of(read.node), values, related=(related,), context=read.context, node=read.node)


def _branch_that_binds(read: NameRead, evidence: Evidence) -> ast.If | None:
    """Return the last `if` for CUDA that would have given a name a value before it was read; None where none would."""
    questions = load_platform().cuda_questions
    for choice in reversed(evidence.facts.choices[: read.choices]):
        if isinstance(choice.node, ast.If) and choice.frame is read.home and choice.source in questions:
            skipped = choice.node.orelse if choice.answer else choice.node.body
            if any(name == read.node.id for statement in skipped for node in at_once(statement) for name in bound_by(node)):
                return choice.node
    return None


def _is_changed_by(node: ast.AST, name: str) -> bool:
    """Return whether a name loses its value, or may be given one by a function that nothing here calls."""
    is_deleted = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del) and node.id == name
    return is_deleted or (isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names)


def _is_certain(node: ast.AST, evidence: Evidence) -> bool:
    """Return whether a name is read whenever its statement runs; a default is, where its function is defined."""
    above = evidence.above(node, (*PERHAPS, ast.stmt))
    is_default = isinstance(above, FUNCTIONS) and node in (*above.args.defaults, *above.args.kw_defaults)
    return not isinstance(above, PERHAPS) or is_default
