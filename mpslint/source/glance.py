"""What a look at a Python text tells: that it cannot parse, without parsing it."""

from __future__ import annotations

import re

from mpslint.source.bare import bare

_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))
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


def cannot_parse(text: str) -> bool:
    """Return whether a script shows at a glance that it does not parse: left in a merge, cut off, of Python 2, or a template.

    What looks so is looked at again without its comments and long texts, where anything may stand, and then without any strings. That is
    right but for the rarest texts, and a fraction of the work of parsing; what is wrong in another way (a missing colon) is not seen.
    """
    return _looks_broken(text) and _looks_broken(bare(text)) and _looks_broken(_TEXTS.sub("0", text))


def _looks_broken(text: str) -> bool:
    if any(text.count(opening) != text.count(closing) for opening, closing in _BRACKETS):
        return True
    if any(text.count(quotes) % 2 for quotes in _LONG_QUOTES) or any(mark in text for mark in _MARKS):
        return True
    return "print " in text and _PYTHON_2.search(text) is not None
