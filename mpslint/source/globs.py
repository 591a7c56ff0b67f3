"""A glob of .gitignore as a regular expression: what `wildmatch` of git finds, with slashes that only `**` goes over.

What stands between two stars is looked for from the left, and only its first place counts: what follows can still begin anywhere after it.
So a match never goes back, and takes at most the length of the pattern times that of the path. A lookahead and a reference to what it found
say that in every version of Python; atomic groups need 3.11.
"""

from __future__ import annotations

import itertools
import re

_PIECE = re.compile(
    r"(?P<anywhere>(?:\A|(?<=/))\*\*+(?:(?P<below>/(?:\*\*+/)*)|(?=\\/)|\Z))|(?P<star>\*+)|(?P<one>\?)|\\(?P<plain>.)|(?P<char>[^\[\\])",
    re.DOTALL,
)
_CLASSES = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": " \\t", "cntrl": "\\x00-\\x1f\\x7f", "digit": "0-9", "graph": "!-~", "lower": "a-z",
    "print": " -~", "punct": "!-/:-@\\[-`{-~", "space": " \\t\\n\\r", "upper": "A-Z", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
"""What a set may name (`[[:digit:]]`), and the characters."""
_NAMED = re.compile(r"\[:([^\]]*):\]")
_RANGE = re.compile(r"\\?(.)(?:-(?!\])\\?(.))?", re.DOTALL)


def as_bytes(text: str) -> str:
    """Return a text with a character for each byte, which is what git compares: `é` has two of them, and so `?` doesn't match it."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("latin-1")


def regex_of(glob: str) -> str | None:
    """Return a regular expression for `fullmatch` on each path that a glob is about, both by `as_bytes`; None for what is no glob."""
    pieces = _pieces(glob)
    if pieces is None:
        return None
    groups = itertools.count()

    def first(skipped: str, text: str) -> str:
        """Find a text behind as little as possible, once and for all."""
        name = f"g{next(groups)}"
        return f"(?=(?P<{name}>{skipped}{text}))(?P={name})" if skipped else text

    whole = gap = block = star = text = ""
    for kind, regex in pieces:
        if kind == "text":
            text += regex
            continue
        block += first(star, text)
        star = text = ""
        if kind == "star":
            star = regex
        else:
            whole += first(gap, block)
            gap, block = regex, ""
    return f"{whole}{gap}{block}{star}{text}"


def _pieces(glob: str) -> list[tuple[str, str]] | None:
    """Return the kind of each piece of a glob (text, star or anywhere) and its regular expression; None for what is no glob."""
    found: list[tuple[str, str]] = []
    position = 0
    while position < len(glob):
        if glob[position] == "[":
            members = _set(glob, position + 1)
            if members is None:
                return None
            regex, position = members
            found.append(("text", regex))
            continue
        piece = _PIECE.match(glob, position)
        if piece is None:  # a backslash at the end
            return None
        position = piece.end()
        if piece["anywhere"]:
            found.append(("anywhere", "(?:[^/]*/)*?" if piece["below"] else ".*?"))
        elif piece["star"]:
            found.append(("star", "[^/]*?"))
        else:
            found.append(("text", "[^/]" if piece["one"] else re.escape(piece["plain"] or piece["char"])))
    return found


def _set(glob: str, start: int) -> tuple[str, int] | None:
    """Return the regular expression of the set whose bracket opens before `start`, and where it ends; None for no set."""
    is_negated = glob[start : start + 1] in ("!", "^")
    position = first = start + is_negated
    members = ""
    while position == first or glob[position : position + 1] != "]":
        named = _NAMED.match(glob, position)
        if named is not None and named[1] not in _CLASSES:
            return None
        found = (_CLASSES[named[1]], named.end()) if named is not None else _range(glob, position)
        if found is None:
            return None
        member, position = found
        members += member
    return (f"[^/{members}]" if is_negated else f"(?!/)[{members}]"), position + 1


def _range(glob: str, position: int) -> tuple[str, int] | None:
    """Return the character or the range (`a-z`) here, and where it ends; None at the end. A range from back to front is its first."""
    ends = _RANGE.match(glob, position)
    if ends is None:
        return None
    first, last = ends[1], ends[2] or ends[1]
    return f"{re.escape(first)}-{re.escape(max(first, last))}", ends.end()
