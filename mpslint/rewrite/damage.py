"""What edits break: code that Python can't compile any more, or a name that they write and nothing binds."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Sequence

from mpslint.core.finding import Edit, Span
from mpslint.program.names import unbound
from mpslint.program.parse import PARSER_ERRORS, Parsed, parse_program
from mpslint.source.document import Document, Kind
from mpslint.source.reader import read

_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
_PYTHON = (Kind.PYTHON, Kind.NOTEBOOK)


def damage_of(edits: Sequence[Edit], document: Document) -> str:
    """Return what edits would break in a Document, or in one of the files of a run's; '' for nothing."""
    by_file: dict[int, list[Edit]] = {}
    for edit in edits:
        by_file.setdefault(document.part_at(edit.span.start).span.start, []).append(edit)
    for start, inner in by_file.items():
        own = document.part_at(start).document
        if own.kind in _PYTHON and own.write_back is not None:
            moved = [Edit(Span(edit.span.start - start, edit.span.end - start), edit.text) for edit in inner]
            data = own.write_back(sorted(moved, key=lambda edit: edit.span))
            if found := damage(own, read(own.path, data, own.kind), (edit.text for edit in inner)):
                return found
    return ""


def not_made(summary: str, cause: str) -> str:
    """Return the summary of a fix as advice that says why it isn't made."""
    return f"{summary} (not made: it would cause {cause})"


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
