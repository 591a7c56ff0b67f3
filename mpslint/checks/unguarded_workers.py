"""Scripts that start loader workers while they are imported: on macOS every worker imports the script again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.checks._loaders import with_workers
from mpslint.facts.values import Call, Context, Function, Instance, Value, alternatives_of
from mpslint.program.hooks import loader_source
from mpslint.rule.check import Gate
from mpslint.rule.comparisons import fits_any
from mpslint.rule.judge import Match, match_of
from mpslint.settings.evidence import Evidence
from mpslint.source.document import Document, Kind
from mpslint.source.words import identifiers_of
from mpslint.target.target import Target

DEFINED = re.compile(r"^(?:async )?(?:def|class) (\w+)", re.MULTILINE)
RUN = re.compile(r"^(?!(?:async )?def |class |import |from |@|if __name__|if TYPE_CHECKING)\w.*(?:\n[ \t)\]}].*)*", re.MULTILINE)
"""A statement at the top of a script, beside definitions and the main guard."""
BLOCK = re.compile(r"(?:async )?(?:if|for|while|with|try|match)\b")
THROUGH = re.compile(r"\.(?:fit|validate|test)\s*\(|\b(?:iter|list|enumerate)\s*\(")
"""A call that goes through loaders: a Trainer's, or a builtin such as `iter`."""
CELL = re.compile(r"^# ?%%", re.MULTILINE)
"""The head of a cell: such a script is run cell by cell, as a notebook is."""


def _may_find(document: Document, options: Mapping[str, Any], target: Target) -> bool:
    """Return whether a Document is a script that may go through something as it is imported: at its top, or in a function called there."""
    if document.kind is not Kind.PYTHON or document.anywhere("cells", lambda one: CELL.search(one.text) is not None):
        return False
    told = [_started_in(part.document) for part in document.parts] if document.parts else [_started_in(document)]
    names = {name for defined, _ in told for name in defined}
    return any(started is None or not names.isdisjoint(started) for _, started in told)


GATE = Gate(words=("workers",), roles=("loader",), may_find=_may_find)


def _started_in(document: Document) -> tuple[set[str], set[str] | None]:
    """Return what a file defines at its top, and the identifiers of what it starts there; None for something that may go through data."""
    if "started" not in document.memo:
        statements = [found.group() for found in RUN.finditer(document.code)]
        is_block = any(BLOCK.match(text) or THROUGH.search(text) for text in statements)
        started = None if is_block else {word for text in statements for word in identifiers_of(text)}
        document.memo["started"] = set(DEFINED.findall(document.code)), started
    found: tuple[set[str], set[str] | None] = document.memo["started"]
    return found


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the loaders with workers that a script goes through outside `if __name__ == "__main__"`.

    Options: `trainers`, methods (globs) that go through the loaders among their arguments; `makers`, for each of them the method by which
    an argument of a class of the program makes the loader.
    """
    if evidence.document.kind is not Kind.PYTHON:
        return
    makers: list[ast.AST] = []
    loops = ((iterated, context) for _, iterated, context in evidence.facts.loops)
    unguarded = [iterated for iterated, context in (*loops, *evidence.facts.iterated) if _runs_on_import(context)]
    for call in evidence.facts.calls:
        if _runs_on_import(call.context) and fits_any(call.name, tuple(options["trainers"])):
            unguarded += [argument.value for argument in (*call.arguments, *call.keywords.values())]
            makers += _makers(call, options["makers"].get(call.method, ""))
    gone_through = {id(one) for value in unguarded for one in _gone_through(value)}
    for call, workers, _ in with_workers(evidence):
        is_made = not call.context.guards and any(function in makers for function in call.context.functions)
        if is_made or (call.result is not None and id(call.result) in gone_through):
            match = match_of(workers, evidence.plans[-1], evidence)
            if match is not None:
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


def _gone_through(iterated: Value, depth: int = 5) -> Iterator[Value]:
    """Yield what going through a value goes through: of `enumerate(tqdm(loader))`, the loader too."""
    for one in alternatives_of(iterated):
        yield one
        if isinstance(one, Instance) and depth > 0:
            if one.owner is not None:
                yield from _gone_through(one.owner, depth - 1)
            for argument in one.call.arguments if one.call is not None else ():
                yield from _gone_through(argument.value, depth - 1)
