"""Text squeezed to what survives pasting: lower case, no spaces, no line ends, no quotes, colours or box lines; and patterns of it.

A message is recognised in this form, so that a line wrap, a rich panel, a `[rank0]:` prefix or a lost underscore
cannot hide it. Every kept character remembers where it stood. A pattern is a message's own words, with holes for what differs from one
run to the next:

    Tried to allocate {size:request} on {name:pool} pool.

A hole is `{kind}` or, to keep what it matched, `{kind:capture}`. The kinds are a number, a size with its unit, a name
without spaces, the word that ends the pattern, and any text. All are bounded, so matching takes linear time whatever is
pasted.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass

# Markdown eats `*` and `_`, shells and JSON add quotes and backslashes, Python 3.11 adds `^^^^`.
_DROPPED = b" \t\r\n\v\f'\"`|*_\\^~"
_LOWER = bytes(range(256)).lower()
_KEPT = frozenset(map(chr, range(33, 127))) - frozenset(_DROPPED.decode())

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-9;?]{0,24}[A-Za-z]|[()][A-Z0-9])|\x9b[0-9;?]{0,24}[A-Za-z]"
    r"|(?:␛|\\x1b|\\u001b|\\033|\\e|\^\[)\[[0-9;?]{0,24}[A-Za-z]"  # as JSON and editors show them
    r"|\[\d{1,3}(?:;\d{1,3}){0,5}m"  # what is left when the escape character was lost
    r"|\\[nrt](?<![A-Za-z0-9:]\\[nrt])(?:\\[nrt]){0,3}"  # line ends inside a JSON string, but not C:\new or a\name
)
_MAY_ESCAPE = re.compile(r"[\x1b\x9b␛\\^]|\[\d{1,3}(?:;\d{1,3}){0,5}m")

_STAMP = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?|\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_LEVEL = "ERR|ERROR|WARN|WARNING|INFO|DEBUG|CRITICAL|stderr|stdout"
_PREFIX = re.compile(
    r"(?:\s*(?:"
    rf"\[?(?:{_STAMP})\]?(?:\s*[-|]\s)?"
    r"|\[(?:rank|default|worker|gpu)?\s?\d{1,4}\]:?|\[\d{1,3},\d{1,3}\]<std(?:err|out)>:"
    r"|\((?:[A-Za-z]\w{0,40} )?pid=\d{1,9}(?:, ip=[\d.]{7,15})?\)"
    rf"|\[(?:{_LEVEL})\]:?|(?:{_LEVEL})(?:\s?[:|-]\s?|(?=\s))"
    r"|[A-Za-z][\w.-]{0,40}\s{1,8}\|(?=\s)"
    r"|[IWEF]\d{4}|E(?=\s{2,8})|>{1,3}(?=\s)|#(?=\s)|//(?=\s)|[│|┃](?=\s)"
    r")){1,6}"
)
HOLES = {
    "number": r"-?\d[\d.,]{0,24}",
    "size": r"\d[\d.,]{0,24}(?:bytes?|[kmgtc]i?b|b)",
    "name": r"[\w.:,<>=/+\[\]()-]{1,80}?",
    "text": r".{0,300}?",
    "word": r"\w",  # squeezed text shows no end of a word, so the rest of it is read in the log itself
}
HOLE = re.compile(r"\{(\w+)(?::(\w+))?\}")

ANCHOR_LENGTH = 16
# An anchor that starts with a rare character is looked for at few places of an ordinary log.
_RARITY = "qzxjkvwbyphgf[]():;,.=<>/+-mucdlrsnoiate0123456789"


@dataclass(frozen=True, slots=True)
class Compact:
    """A squeezed text; `origins[i]` is where character `i` stood in the text it was made from."""

    text: str
    origins: array[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of the original text that a non-empty range of this one came from."""
        return self.origins[start], self.origins[end - 1] + 1


def squeeze(text: str) -> str:
    """Return the squeezed text alone: the fast form, which leaves prefixes of lines in."""
    return text.encode("ascii", "ignore").translate(_LOWER, _DROPPED).decode("ascii")


def blank_escapes(text: str) -> str:
    """Return the text with colours and escaped line ends overwritten by as many spaces, so that offsets stay true."""
    return _ESCAPES.sub(lambda match: " " * len(match.group()), text) if _MAY_ESCAPE.search(text) else text


def strip_escapes(text: str) -> str:
    """Return the text without colours; an escaped line end becomes a space."""
    return _ESCAPES.sub(lambda match: " " if match.group()[1:2] in "nrt" else "", text)


def compact(text: str, offset: int = 0) -> Compact:
    """Return the squeezed text without the prefixes of its lines; `offset` is where `text` starts in the original."""
    kept: list[str] = []
    origins = array("Q")
    position = 0
    for line in blank_escapes(text).split("\n"):
        prefix = _PREFIX.match(line)
        start = prefix.end() if prefix else 0
        for index in range(start, len(line)):
            if line[index] in _KEPT:
                kept.append(line[index])
                origins.append(offset + position + index)
        position += len(line) + 1
    return Compact("".join(kept).lower(), origins)


def unwrap(text: str) -> str:
    """Return a quoted part of a log as one line: no colours, no box lines, no prefixes, one space for each gap."""
    lines: list[str] = []
    for line in strip_escapes(text).split("\n"):
        prefix = _PREFIX.match(line) if lines else None
        lines.append(line[prefix.end() if prefix else 0 :].strip(" \t\r│|┃╭╮╰╯─❱"))
    return " ".join(" ".join(lines).split())


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern on squeezed text; `anchors` are pieces of its longest literal that are searched for first."""

    source: str
    regex: re.Pattern[str]
    literal: str
    literal_length: int
    anchors: tuple[str, ...]
    open_captures: frozenset[str]
    """The captures of kind `word`, which go on in the log."""


def compile_pattern(source: str) -> Pattern:
    """Return the compiled pattern."""
    pieces = HOLE.split(source)
    literals, holes = [squeeze(one) for one in pieces[::3]], [*zip(pieces[1::3], pieces[2::3], strict=True)]
    matched = [f"(?P<{capture}>{HOLES[kind]})" if capture else f"(?:{HOLES[kind]})" for kind, capture in holes]
    regex = re.compile("".join(re.escape(literal) + hole for literal, hole in zip(literals, [*matched, ""], strict=True)))
    longest = max(literals, key=len)
    words = frozenset(capture for kind, capture in holes if kind == "word" and capture)
    return Pattern(source, regex, longest, sum(map(len, literals)), _anchors(longest), words)


def _anchors(literal: str) -> tuple[str, ...]:
    """Return a piece of each half of a literal, so that a line prefix inside the message hides at most one of them."""
    if len(literal) < 2 * ANCHOR_LENGTH:
        return (_rarest(literal),)
    middle = len(literal) // 2
    return _rarest(literal[:middle]), _rarest(literal[middle:])


def _rarest(text: str) -> str:
    """Return the piece of anchor length that starts with the rarest character."""
    starts = range(max(1, len(text) - ANCHOR_LENGTH + 1))
    start = min(starts, key=lambda index: (_RARITY.find(text[index]) % 100, index))
    return text[start : start + ANCHOR_LENGTH]
