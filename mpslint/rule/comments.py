"""Where the comments of a file stand, whatever its language. Text in strings that looks like a comment is none."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator

from mpslint.config.comments import comments_in
from mpslint.core.finding import Span
from mpslint.source.document import Document, Kind


def comments_of(document: Document, python: str) -> Iterator[Span]:
    """Yield the place of every comment; `python` is the text of one program of the Document, where it has any."""
    if document.kind not in (Kind.PYTHON, Kind.NOTEBOOK):
        yield from comments_in(document.text, document.kind)
        return
    for part in [cell.span for cell in document.cells] or [Span(0, len(document.text))]:
        text = python[part.start : part.end]
        if "#" in text:
            yield from _python_comments(document, text, part.start)


def _python_comments(document: Document, text: str, offset: int) -> Iterator[Span]:
    first = document.line_at(offset)
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                start = document.line_starts[first + token.start[0] - 2] + token.start[1]
                start = offset + token.start[1] if token.start[0] == 1 else start
                yield Span(start, start + len(token.string))
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return
