"""Scripts that start loader workers while they are imported: on macOS every worker imports the script again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._loaders import with_workers
from mpslint.facts.values import Call, Context, Function, made_from
from mpslint.program.hooks import loader_source
from mpslint.rule.comparisons import fits_any
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.source.document import Kind

CELL = re.compile(r"^# ?%%", re.MULTILINE)
"""The head of a cell: such a script is run cell by cell, as a notebook is."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the loaders with workers that a script goes through outside `if __name__ == "__main__"`.

    Options: `trainers`, methods (globs) that go through the loaders among their arguments; `makers`, for each of them the method by which
    an argument of a class of the program makes the loader.
    """
    if evidence.document.kind is not Kind.PYTHON or CELL.search(evidence.document.text):
        return
    makers: list[ast.AST] = []
    loops = ((iterated, context) for _, iterated, context in evidence.facts.loops)
    unguarded = [iterated for iterated, context in (*loops, *evidence.facts.iterated) if _runs_on_import(context)]
    for call in evidence.facts.calls:
        if _runs_on_import(call.context) and fits_any(call.name, tuple(options["trainers"])):
            unguarded += call.given
            makers += _makers(call, options["makers"].get(call.method, ""))
    gone_through = {id(one) for value in unguarded for one in made_from(value)}
    for call, match, _ in with_workers(evidence):
        is_made = not call.context.guards and any(function in makers for function in call.context.functions)
        if is_made or (call.result is not None and id(call.result) in gone_through):
            yield match


def _runs_on_import(context: Context) -> bool:
    """Return whether a place is reached as the script is imported, and by no test that is undecided."""
    return context.called and not context.under_main and not context.guards and not context.in_handler


def _makers(call: Call, method: str) -> Iterator[ast.AST]:
    """Yield the method that makes the loader of a Trainer's call: that of the data it is given, or of the model alone."""
    one = loader_source(call)
    maker = one.cls.lookup(method) if one is not None and one.cls is not None else None
    if isinstance(maker, Function):
        yield maker.node
