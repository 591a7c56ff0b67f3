"""Patterns as in .gitignore, read as git reads them: about a file or folder itself, so whoever asks goes from the top down.

A glob becomes a regular expression that finds what `wildmatch` of git finds, with slashes that only `**` goes over. What stands between two
stars is looked for from the left, and only its first place counts: what follows can still begin anywhere after it. So a match never goes
back, and takes at most the length of the pattern times that of the path. A lookahead and a reference to what it found say that in every
version of Python; atomic groups need 3.11.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Sequence

from mpslint.core.record import record

_SPECIAL = re.compile(r"[*?\[\]\\]")
_PLAIN_GLOB = re.compile(r"(?:[^\[\]\\]|\[\w+\])*")
"""Without escapes, and with no other sets than of letters (`*.py[cod]`)."""
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


@record(frozen=True, slots=True, eq=False)
class _Pattern:
    """One line: what it finds, in which text, and what it says of that."""

    found: re.Pattern[str]
    leaves_out: bool
    is_for_folders: bool
    is_about_names: bool
    """Whether it has no slash but a last one, and so counts in every folder."""

    def fits(self, path: str, name: str, is_folder: bool) -> bool:
        """Return whether it is about a path itself, which has this name."""
        return (is_folder or not self.is_for_folders) and self.found.fullmatch(name if self.is_about_names else path) is not None


class Patterns:
    """Lines of a .gitignore; they are read when a name may fit one of them, as nearly all names fit none."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Take the lines; comments, empty ones and those without a name count for nothing."""
        self.lines = tuple(line for line in lines if line.rstrip(" ").removeprefix("!").strip("/") and not line.startswith("#"))
        last = [as_bytes(line.rstrip(" ").removeprefix("!").removesuffix("/").rpartition("/")[2]) for line in self.lines]
        self._names = frozenset(part for part in last if not _SPECIAL.search(part))
        self._globs = tuple(sorted({part for part in last if _SPECIAL.search(part)}))

    def answer(self, path: str) -> bool | None:
        """Return whether the last pattern about a path itself (from where they count; a folder ends with a slash) leaves it out.

        None: no pattern is about it. What they say of the folders above it is not asked.
        """
        bare = as_bytes(path.removesuffix("/"))
        name = bare.rpartition("/")[2]
        return next((one.leaves_out for one in self._read if one.fits(bare, name, path[-1:] == "/")), None) if self.may_name(name) else None

    def leaves_out(self, path: str) -> bool:
        """Return whether the patterns leave out a path, or a folder that it lies in: there no later pattern brings it back."""
        ends = [match.end() for match in re.finditer("/", path)]
        return any(self.answer(path[:end]) for end in sorted({*ends, len(path)}) if end)

    def may_name(self, name: str) -> bool:
        """Return whether a pattern may be about a file or folder of this name."""
        return name in self._names or (bool(self._globs) and self._looks.search(name) is not None)

    def wrong(self) -> str:
        """Return the first line that is no pattern; '' where all are."""
        return next((line for line in self.lines if _pattern(line) is None), "")

    @functools.cached_property
    def _looks(self) -> re.Pattern[str]:
        """What finds the names that patterns with special characters may be about."""
        return re.compile("|".join(_regex(glob) for glob in self._globs), re.DOTALL)

    @functools.cached_property
    def _read(self) -> Sequence[_Pattern]:
        """The patterns, last first, as the last one that fits decides; as for git, a line that is none counts for nothing."""
        return [one for line in reversed(self.lines) if (one := _pattern(line)) is not None]


def _pattern(line: str) -> _Pattern | None:
    """Return what a line says; None for one that is no pattern."""
    meant = line.rstrip(" ")
    if meant != line and len(meant) % 2 != len(meant.rstrip("\\")) % 2:
        meant += " "  # behind a backslash
    text = meant.removeprefix("!")
    glob = text.removesuffix("/")
    regex = regex_of(as_bytes(glob.removeprefix("/")))
    return None if regex is None else _Pattern(re.compile(regex, re.DOTALL), text == meant, glob != text, "/" not in glob)


def _regex(glob: str) -> str:
    """Return a regular expression that finds at least the names that the last part of a pattern is about.

    What stands between two stars is left out, so that no name takes long.
    """
    if not _PLAIN_GLOB.fullmatch(glob):
        return ""
    parts = glob.split("*")
    ends = parts if len(parts) == 1 else (parts[0], parts[-1])
    return rf"\A{'.*'.join(map(_fixed, ends))}\Z"


def _fixed(glob: str) -> str:
    """Return the regular expression of what has no star."""
    return "".join("." if part == "?" else part if part[:1] == "[" else re.escape(part) for part in re.split(r"(\?|\[\w+\])", glob))


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
