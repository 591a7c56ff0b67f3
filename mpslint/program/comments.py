"""The comments in a piece of Python."""

from __future__ import annotations

import io
import tokenize


def comments_in(text: str) -> list[str]:
    """Return the comments of a piece of Python, in order; of a piece that is no whole tokens, those that can be read."""
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(f"({text}\n)").readline):
            if token.type == tokenize.COMMENT:
                found.append(token.string)
    except (tokenize.TokenError, SyntaxError, IndentationError):
        pass
    return found
