"""Python without its comments and longer texts, everything else where it was: what a program may do, not what is said about it."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"#[^\n]*"
    r'|"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
    r"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'(?:[^'\\\n]|\\.)*'",
    re.DOTALL,
)
_MARK = re.compile(r"#|\"\"\"|'''")


def bare(text: str) -> str:
    """Return Python with spaces for its comments and for every text over several lines that is no f-string.

    No name, device or argument is written in a text of several lines: those are documentation, prompts and templates.
    """
    pieces: list[str] = []
    kept = 0
    for start, end in _tokens(text):
        is_comment = text[start] == "#"
        if is_comment or ("\n" in text[start:end] and not text[max(0, start - 2) : start].lower().endswith(("f", "fr"))):
            pieces += [text[kept:start], "\n".join([" " * len(line) for line in text[start:end].split("\n")])]
            kept = end
    return "".join([*pieces, text[kept:]])


def _tokens(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each comment and each string of several lines lies, and some of the strings of one line."""
    if "\\\n" in text:  # a string of one line may go on in the next
        yield from (match.span() for match in _TOKEN.finditer(text))
        return
    position = 0
    while (mark := _MARK.search(text, position)) is not None:
        line = max(position, text.rfind("\n", position, mark.start()) + 1)
        for token in _TOKEN.finditer(text, line):
            position = token.end()
            if position > mark.start():
                yield token.span()
                break
