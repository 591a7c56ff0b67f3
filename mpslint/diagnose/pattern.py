"""The pattern of a message: its own words, with holes for what differs from one run to the next.

    Tried to allocate {size:request} on {name:pool} pool.

A hole is `{kind}` or, to keep what it matched, `{kind:capture}`. The kinds are a number, a size with its unit, a name
without spaces, the word that ends the pattern, and any text. All are bounded, so matching takes linear time whatever is
pasted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mpslint.diagnose.compact import squeeze

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
class Pattern:
    """A compiled pattern on squeezed text; `anchors` are pieces of its longest literal that are searched for first."""

    source: str
    regex: re.Pattern[str]
    literal: str
    literal_length: int
    anchors: tuple[str, ...]
    open_captures: frozenset[str]
    """The captures of kind `word`, which go on in the log."""

    @property
    def captures(self) -> frozenset[str]:
        """Return the names of the holes that keep what they matched."""
        return frozenset(self.regex.groupindex)


def compile_pattern(source: str) -> Pattern:
    """Return the compiled pattern."""
    literals: list[str] = []
    expression = ""
    position = 0
    holes = list(HOLE.finditer(source))
    for hole in holes:
        kind, capture = hole.groups()
        literals.append(squeeze(source[position : hole.start()]))
        expression += re.escape(literals[-1]) + (f"(?P<{capture}>{HOLES[kind]})" if capture else f"(?:{HOLES[kind]})")
        position = hole.end()
    literals.append(squeeze(source[position:]))
    expression += re.escape(literals[-1])
    longest = max(literals, key=len)
    regex = re.compile(expression)
    words = frozenset(capture for kind, capture in (hole.groups() for hole in holes) if kind == "word" and capture)
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
