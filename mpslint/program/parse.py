"""Python text -> statements of `ast`, cell by cell where it is a notebook, so that one broken cell costs one cell."""

from __future__ import annotations

import ast
import contextlib
import re
import warnings

from mpslint.core.finding import Span
from mpslint.core.record import record
from mpslint.source.document import Cell, Document, Unread

PARSER_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)
_PROMPT = re.compile(r"^([ \t]*)(>>>|\.\.\.)(?= |$)", re.MULTILINE)


@record(frozen=True)
class Parsed:
    """The statements of a program, numbered by the lines of `Document.text`, and the parts that could not be parsed."""

    body: list[ast.stmt]
    unread: tuple[Unread, ...] = ()


def parse_program(document: Document, text: str, lines_above: int = 0) -> Parsed:
    """Return the statements of `text`, which is `document.python` or one of its scripts. Never raises.

    `lines_above` are the lines before it in the joined text of a run; a notebook has none.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            body = ast.parse("\n" * lines_above + text).body
        except PARSER_ERRORS as error:
            if not document.cells:
                return Parsed([], (_unread(document, Span(0, len(text)), error),))
        else:
            if not document.cells or not _crosses_cells(document, body):
                return Parsed(body)
        return _parse_cells(document, text)


def _crosses_cells(document: Document, body: list[ast.stmt]) -> bool:
    """Return whether a statement begins in one cell and ends in another, as two broken cells can make one whole."""
    lasts = iter([document.line_at(cell.span.end) for cell in document.cells])
    last = next(lasts)
    for statement in body:
        while statement.lineno > last:
            last = next(lasts)
        if (statement.end_lineno or statement.lineno) > last:
            return True
    return False


def _parse_cells(document: Document, text: str) -> Parsed:
    body: list[ast.stmt] = []
    unread = []
    for cell in document.cells:
        found = _parse_cell(document, text, cell)
        if isinstance(found, Unread):
            unread.append(found)
        else:
            body += found
    return Parsed(body, tuple(unread))


def _parse_cell(document: Document, text: str, cell: Cell) -> list[ast.stmt] | Unread:
    """Return the statements of one cell: as it is, with automagics masked, or with the indent and prompts that IPython strips."""
    from mpslint.source.magics import mask_cell  # for notebooks only

    source = text[cell.span.start : cell.span.end]
    above = "\n" * (document.line_at(cell.span.start) - 1)
    failure: BaseException | None = None
    for attempt in (source, mask_cell(source, automagic=True).python):
        try:
            return ast.parse(above + attempt).body
        except PARSER_ERRORS as error:
            failure = failure or error
    unprompted = _PROMPT.sub(lambda match: " " * len(match.group()), source)
    if source[:1].isspace() or unprompted != source:
        with contextlib.suppress(*PARSER_ERRORS):
            wrapper = ast.parse("if 1:\n" + unprompted).body[0]
            if isinstance(wrapper, ast.If):
                return [ast.increment_lineno(statement, len(above) - 1) for statement in wrapper.body]
    assert failure is not None
    return _unread(document, cell.span, failure)


def _unread(document: Document, span: Span, error: BaseException) -> Unread:
    """Return why a part could not be parsed, at the place that the parser names."""
    if not isinstance(error, SyntaxError):
        reason = f"does not parse: {error}" if isinstance(error, ValueError) else "too deeply nested to be parsed"
        return Unread(Span(span.start, span.start), reason)
    if not error.lineno:
        return Unread(Span(span.start, span.start), f"does not parse: {error.msg}")
    line = min(error.lineno, len(document.line_starts))
    end = document.line_starts[line - 1] + len(document.line_text(line))
    start = min(document.line_starts[line - 1] + max(0, (error.offset or 1) - 1), end)
    start, end = (max(span.start, min(span.end, offset)) for offset in (start, end))
    return Unread(Span(start, end), f"does not parse: {error.msg}")
