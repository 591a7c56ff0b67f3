"""Python without its comments and longer texts, everything else where it was: what a program may do, not what is said about it."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"#[^\n]*"
    r'|"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
    r"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'(?:[^'\\\n]|\\.)*'",
    re.DOTALL,
)
_NOT_BLANK = re.compile(r"[^\n]")


def bare(text: str) -> str:
    """Return Python with spaces for its comments and for every text over several lines that is no f-string.

    No name, device or argument is written in a text of several lines: those are documentation, prompts and templates.
    """
    return _TOKEN.sub(_kept, text)


def _kept(match: re.Match[str]) -> str:
    token = match.group()
    if token[0] == "#":
        return " " * len(token)
    if "\n" not in token or match.string[max(0, match.start() - 2) : match.start()].lower().endswith(("f", "fr")):
        return token
    return _NOT_BLANK.sub(" ", token)
