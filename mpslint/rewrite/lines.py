"""Take a line away from a text that is no Python: a shell script, a `.env` file, a Dockerfile, YAML."""

from __future__ import annotations

import re

from mpslint.core.finding import Edit, Span
from mpslint.source.document import Document, Kind

_SETS_A_VARIABLE = re.compile(r"[ \t]*(?:export[ \t]+|ENV[ \t]+|-[ \t]+)?[\"']?(?P<written>)", re.IGNORECASE)


def line_removal(document: Document, span: Span) -> Edit | None:
    """Return the edit that removes the line on which a shell text, a Dockerfile or a YAML file sets a variable.

    None where more stands on the line, where it goes on, and where it is the only entry of a YAML block.
    """
    line = document.line_at(span.start)
    start = document.line_starts[line - 1]
    text = document.line_text(line)
    before = _SETS_A_VARIABLE.match(text)
    after = text[span.end - start :].strip("\"' \t")
    if before is None or start + before.end() != span.start or (after and not after.startswith("#")):
        return None
    neighbours = [document.line_text(other) for other in (line - 1, line + 1) if 1 <= other <= len(document.line_starts)]
    if any(neighbour.endswith("\\") for neighbour in neighbours[:1]) and line > 1:
        return None
    indent = text[: len(text) - len(text.lstrip())]
    if document.kind is Kind.YAML and not any(re.match(rf"{indent}[\w\"'-]", neighbour) for neighbour in neighbours):
        return None
    return Edit(document.lines_of(span), "")
