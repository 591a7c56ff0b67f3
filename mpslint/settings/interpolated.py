"""The variables of Python that a `!` line of a notebook takes: IPython puts them in for `$NAME` and `{NAME}`."""

from __future__ import annotations

import ast
import re

from mpslint.config.shell_words import Shell, Variable
from mpslint.core.finding import Span
from mpslint.facts.facts import Facts
from mpslint.facts.values import Known
from mpslint.program.walk import walk
from mpslint.source.document import Document, Snippet

_TAKEN = re.compile(r"[${]([A-Za-z_]\w*)")
_PLAIN = re.compile(r"[^\\\"'`$;&|<>(){}#\n]*")
"""A text that a shell takes as it is, but for its blanks."""


def variables_at(snippet: Snippet, document: Document, facts: Facts) -> dict[str, Variable]:
    """Return what is known of the variables in a `!` line, each at the place of its text; a shell cell (`%%bash`) takes none.

    One that the notebook sets again further down is not known: which cell ran last is not.
    """
    if document.text[: snippet.span.start][-1:] != "!":
        return {}
    found: dict[str, Variable] = {}
    for name in dict.fromkeys(_TAKEN.findall(snippet.text)):
        value = facts.frames[0].slots.get(name) if facts.frames else None
        if not isinstance(value, Known) or _is_set_behind(name, snippet, document, facts):
            continue
        place = _place_of(value, document)
        text = str(value.value)
        if place is not None and _PLAIN.fullmatch(text):
            found[name] = Variable(text, tuple(Shell(text, place.start).words()), value.weak, place)
    return found


def _place_of(value: Known, document: Document) -> Span | None:
    """Return where the text of a value is written, without its quotes; None where it is computed."""
    node = value.origin
    if not isinstance(node, ast.Constant) or not isinstance(node.value, (str, int, float)):
        return None
    start, end = document.offset(node.lineno, node.col_offset), document.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
    quote = 1 if isinstance(node.value, str) else 0
    inner = Span(start + quote, end - quote)
    return inner if not quote or document.text[inner.start : inner.end] == node.value else None


def _is_set_behind(name: str, snippet: Snippet, document: Document, facts: Facts) -> bool:
    """Return whether a cell below a line gives a name another value."""
    below = (one for one in facts.body if document.offset(one.end_lineno or one.lineno, 0) > snippet.span.start)
    stores = (one for one in walk(*below) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and one.id == name)
    return any(document.offset(node.lineno, node.col_offset) > snippet.span.start for node in stores)
