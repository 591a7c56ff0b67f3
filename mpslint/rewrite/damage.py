"""What edits break: code that Python can't compile any more, or a name that they write and nothing binds."""

from __future__ import annotations

import ast
import bisect
import operator
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace

from mpslint.core.finding import Edit, Finding, Fix, Safety, Span
from mpslint.core.grouped import grouped
from mpslint.program.names import unbound
from mpslint.program.parse import PARSER_ERRORS, Parsed, parse_program
from mpslint.rule.objections import not_made
from mpslint.source.document import Document, Kind
from mpslint.source.reader import read

_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
_PYTHON = (Kind.PYTHON, Kind.NOTEBOOK)


def with_sound_fixes(findings: Sequence[Finding], document: Document) -> list[Finding]:
    """Return the findings of a Document; a fix that would break one of its files is advice that says so.

    Those that don't meet are tried together, as most break nothing, and one by one where something breaks.
    """
    waiting = [(one, one.fix) for one in findings if one.fix is not None and one.fix.edits]
    broken: dict[int, Fix] = {}
    while waiting:
        together: dict[Edit, None] = {}
        taken: list[Span] = []  # in order
        tried, left = [], []
        for one, fix in waiting:
            new = [edit for edit in fix.edits if edit not in together]
            if any(touches(edit.span, taken) for edit in new):
                left.append((one, fix))
                continue
            tried.append((one, fix))
            for edit in new:
                together[edit] = None
                bisect.insort(taken, edit.span)
        for one, fix in tried if damage_of([*together], document) else ():
            if what := damage_of(fix.edits, document):
                broken[id(one)] = Fix(Safety.MANUAL, fix.summary + not_made(what))
        waiting = left
    return [replace(one, fix=broken.get(id(one), one.fix)) for one in findings] if broken else list(findings)


def touches(span: Span, taken: Sequence[Span]) -> bool:
    """Return whether a span meets one of those taken, which are in order and do not overlap one another."""
    index = bisect.bisect_right(taken, span.end, key=operator.attrgetter("start"))
    return index > 0 and taken[index - 1].end >= span.start


def damage_of(edits: Sequence[Edit], document: Document) -> str:
    """Return what edits would break in a Document, or in one of the files of a run's; '' for nothing."""
    for start, inner in grouped((document.part_at(edit.span.start).span.start, edit) for edit in edits).items():
        own = document.part_at(start).document
        if own.kind in _PYTHON and own.write_back is not None:
            moved = [Edit(Span(edit.span.start - start, edit.span.end - start), edit.text) for edit in inner]
            data = own.write_back(sorted(moved, key=lambda edit: edit.span))
            if found := damage(own, read(own.path, data, own.kind), (edit.text for edit in inner)):
                return found
    return ""


def damage(before: Document, after: Document, written: Iterable[str]) -> str:
    """Return what is broken in a Document that wasn't before the texts of some edits were written into it; '' for nothing."""
    if after.kind not in _PYTHON:
        return ""
    names = {name for text in written for name in _NAME.findall(text)}
    for old, new in zip((before.python, *before.scripts), (after.python, *after.scripts), strict=False):
        now = parse_program(after, new)
        missing = unbound(now.body, names)
        if not missing and not now.unread and _compiles(now):
            continue
        was = parse_program(before, old)
        if len(now.unread) > len(was.unread) or (_compiles(was) and not _compiles(now)):
            return "a syntax error"
        if missing := missing - unbound(was.body, missing):
            return f"a NameError, as {' and '.join(f'`{name}`' for name in sorted(missing))} may not be bound"
    return ""


def _compiles(parsed: Parsed) -> bool:
    """Return whether Python compiles a program that it has parsed; a notebook may also `await` outside of functions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(ast.Module(parsed.body, []), "<fixed>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        except PARSER_ERRORS:
            return False
    return True
