"""What a look at a Python text tells: that it cannot parse, without parsing it."""

from __future__ import annotations

import re

from mpslint.source.document import Document

_BRACKETS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"))
_NO_BRACKETS = bytes(byte for byte in range(256) if chr(byte) not in "()[]{}")
_LONG_QUOTES = ('"""', "'''")
_TEXTS = re.compile(
    r'''"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""|'{3}[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'{3}'''
    r"""|(?<!")"(?!"")(?:[^"\\\n]|\\.)*"|(?<!')'(?!'')(?:[^'\\\n]|\\.)*'|\#[^\n]*""",
    re.DOTALL,
)
"""Strings and comments; a long string that never ends is none."""
_MARKS = ("<<<<<<< ", ">>>>>>> ", "{%")
"""What a merge leaves, and templates."""
_PYTHON_2 = re.compile(r"^[ \t]*print +[\"'\w]", re.MULTILINE)


def cannot_parse(script: Document) -> bool:
    """Return whether a script shows at a glance that it does not parse: left in a merge, cut off, of Python 2, or a template.

    What looks so is looked at again without its comments and long texts, where anything may stand, and then without any strings. That is
    right but for the rarest texts, and a fraction of the work of parsing; what is wrong in another way (a missing colon) is not seen.
    """
    return _looks_broken(script.text) and _looks_broken(script.code) and _looks_broken(_TEXTS.sub("0", script.text))


def _looks_broken(text: str) -> bool:
    brackets = text.encode("utf-8", "surrogatepass").translate(None, _NO_BRACKETS)
    if any(brackets.count(opening) != brackets.count(closing) for opening, closing in _BRACKETS):
        return True
    if any(text.count(quotes) % 2 for quotes in _LONG_QUOTES) or any(mark in text for mark in _MARKS):
        return True
    return "print " in text and _PYTHON_2.search(text) is not None
