"""The pattern of a message: its own words, with holes for what differs from one run to the next.

    Tried to allocate {size:request} on {name:pool} pool.

A hole is `{kind}` or, to keep what it matched, `{kind:capture}`. The kinds are a number, a size with its unit, a name
without spaces, the word that ends the pattern, and any text. All are bounded, so matching takes linear time whatever is
pasted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mpslint.core.finding import RuleError
from mpslint.diagnose.compact import squeeze

HOLES = {
    "number": r"-?\d[\d.,]{0,24}",
    "size": r"\d[\d.,]{0,24}(?:bytes?|[kmgtc]i?b|b)",
    "name": r"[\w.:,<>=/+\[\]()-]{1,80}?",
    "text": r".{0,300}?",
    "word": r"\w",  # squeezed text shows no end of a word, so the rest of it is read in the log itself
}
_OPEN_ENDED = {"name", "text"}
_MAX_OPEN_ENDED = 3
_HOLE = re.compile(r"\{(\w+)(?::(\w+))?\}")

ANCHOR_LENGTH = 16
_MIN_LITERAL = 9
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
    """Return the compiled pattern. Raises RuleError saying what is wrong with it."""
    literals: list[str] = []
    expression = ""
    position = 0
    holes = list(_HOLE.finditer(source))
    for hole in holes:
        kind, capture = hole.groups()
        if kind not in HOLES:
            raise RuleError(f"unknown hole {hole.group()!r}: the kinds are {', '.join(HOLES)}")
        literals.append(squeeze(source[position : hole.start()]))
        expression += re.escape(literals[-1]) + (f"(?P<{capture}>{HOLES[kind]})" if capture else f"(?:{HOLES[kind]})")
        position = hole.end()
    literals.append(squeeze(source[position:]))
    expression += re.escape(literals[-1])
    _validate(source, [hole.group(1) for hole in holes], literals)
    longest = max(literals, key=len)
    regex = re.compile(expression)
    words = frozenset(capture for kind, capture in (hole.groups() for hole in holes) if kind == "word" and capture)
    return Pattern(source, regex, longest, sum(map(len, literals)), _anchors(longest), words)


def _validate(source: str, kinds: list[str], literals: list[str]) -> None:
    """Refuse a pattern that would match too much or take too long."""
    if max(map(len, literals)) < _MIN_LITERAL:
        raise RuleError(f"pattern {source!r} has no run of {_MIN_LITERAL} characters between two holes")
    if "{" in "".join(literals) or "}" in "".join(literals):
        raise RuleError(f"pattern {source!r} has a brace that isn't part of a placeholder")
    if "word" in kinds[:-1] or (kinds and kinds[-1] == "word" and literals[-1]):
        raise RuleError(f"pattern {source!r}: a hole of kind 'word' can only be the end")
    open_ended = [index for index, kind in enumerate(kinds) if kind in _OPEN_ENDED]
    if len(open_ended) > _MAX_OPEN_ENDED:
        raise RuleError(f"pattern {source!r} has more than {_MAX_OPEN_ENDED} holes of kind {' or '.join(_OPEN_ENDED)}")
    for index in open_ended:
        if not literals[index + 1] or (index == 0 and not literals[0]):
            raise RuleError(f"pattern {source!r}: a hole of kind {kinds[index]!r} needs words on both sides")


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
