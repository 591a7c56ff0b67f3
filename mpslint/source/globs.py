"""A glob of .gitignore as a regular expression: what `wildmatch` of git finds, with slashes that only `**` goes over."""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"(?P<anywhere>(?:\A|(?<=/))\*\*+(?:(?P<below>/+)|\Z))|(?P<stars>\*+)|(?P<one>\?)|\\(?P<plain>.)|(?P<char>[^\[\\])", re.DOTALL
)
_CLASSES = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": " \\t", "cntrl": "\\x00-\\x1f\\x7f", "digit": "0-9", "graph": "!-~", "lower": "a-z",
    "print": " -~", "punct": "!-/:-@\\[-`{-~", "space": "\\s", "upper": "A-Z", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
"""What a set may name (`[[:digit:]]`), and the characters."""


def regex_of(glob: str) -> str | None:
    """Return a regular expression that matches the whole of each path that a glob is about; None for what is no glob."""
    parts: list[str] = []
    position = 0
    while position < len(glob):
        if glob[position] == "[":
            found = _set(glob, position + 1)
            if found is None:
                return None
            part, position = found
        else:
            piece = _PIECE.match(glob, position)
            if piece is None:  # a backslash at the end
                return None
            part, position = _part(piece), piece.end()
        parts.append(part)
    return "".join(parts)


def _part(piece: re.Match[str]) -> str:
    """Return the regular expression of one piece of a glob."""
    if piece["anywhere"]:
        return "(?:.*/)?" if piece["below"] else ".*"
    if piece["stars"]:
        return "[^/]*"
    return "[^/]" if piece["one"] else re.escape(piece["plain"] or piece["char"])


def _set(glob: str, start: int) -> tuple[str, int] | None:
    """Return the regular expression of the set whose bracket opens before `start`, and where it ends; None for no set."""
    is_negated = glob[start : start + 1] in ("!", "^")
    position = first = start + is_negated
    members = ""
    while position == first or glob[position : position + 1] != "]":
        found = _named_class(glob, position) or _range(glob, position)
        if found is None:
            return None
        member, position = found
        members += member
    if is_negated:
        return f"[^/{members}]", position + 1
    return (f"(?!/)[{members}]", position + 1) if members else None


def _named_class(glob: str, position: int) -> tuple[str, int] | None:
    """Return the characters of a class that is named here, and where it ends; None for no class."""
    named = re.compile(r"\[:(\w+):\]").match(glob, position)
    return (_CLASSES[named[1]], named.end()) if named and named[1] in _CLASSES else None


def _range(glob: str, position: int) -> tuple[str, int] | None:
    """Return the character or the range (`a-z`) here, and where it ends; None where the glob ends. A range from back to front is empty."""
    ends = re.compile(r"\\?(.)(?:-(?!\])\\?(.))?", re.DOTALL).match(glob, position)
    if ends is None:
        return None
    first, last = ends[1], ends[2] or ends[1]
    return (f"{re.escape(first)}-{re.escape(last)}" if first <= last else ""), ends.end()
