"""Where the comments of a file stand, whatever its language. Text in strings that looks like a comment is none."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator

from mpslint.config.comments import comments_in
from mpslint.core.finding import Span
from mpslint.source.document import Document, Kind

_CELL = re.compile(r"# ?%%|# MAGIC %")
_PROSE = re.compile(r"# ?%%.*\[(?:markdown|md|raw)\]|# MAGIC %(?:md|html)")
"""How a cell begins in a script that is a notebook too, and one whose comments are the text that people read."""


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
    first, is_prose = document.line_at(offset), False
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                if _CELL.match(token.string):
                    is_prose = _PROSE.match(token.string) is not None
                if is_prose and not token.line[: token.start[1]].strip():
                    continue
                start = document.line_starts[first + token.start[0] - 2] + token.start[1]
                start = offset + token.start[1] if token.start[0] == 1 else start
                yield Span(start, start + len(token.string))
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return
