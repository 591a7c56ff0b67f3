"""Words to look for in a text, many at once: each distinct identifier of a text is asked once, whatever the number of words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_IDENTIFIER = re.compile(r"\w+")


@dataclass(frozen=True, eq=False, repr=False)
class Words:
    """Names that must stand by themselves, and pieces of text that may stand in longer ones.

    A piece counts as found where the longest name in it is: `.pad(` in `x.pad (y)` too. So more is found than was asked for, never less.
    """

    names: frozenset[str]
    pieces: re.Pattern[str]
    marks: tuple[str, ...]
    """Pieces that hold no letter or digit (`+=`)."""
    answers: dict[str, bool] = field(default_factory=dict)

    def places(self, text: str) -> Iterator[int]:
        """Yield where the names and pieces stand in a text, in no particular order."""
        answers = self.answers
        for match in _IDENTIFIER.finditer(text):
            word = match.group()
            answer = answers.get(word)
            if answer if answer is not None else self._ask(word):
                yield match.start()
        for mark in self.marks:
            yield from (match.start() for match in re.finditer(re.escape(mark), text))

    def are_in(self, text: str) -> bool:
        """Return whether one of them stands in a text."""
        answers = self.answers
        for word in set(_IDENTIFIER.findall(text)):
            answer = answers.get(word)
            if answer if answer is not None else self._ask(word):
                return True
        return any(mark in text for mark in self.marks)

    def _ask(self, word: str) -> bool:
        found = word in self.names or self.pieces.search(word) is not None
        if len(self.answers) < 200_000:
            self.answers[word] = found
        return found


def words_of(names: Iterable[str], pieces: Iterable[str]) -> Words:
    """Return names and pieces as Words."""
    patterns: set[str] = set()
    marks: set[str] = set()
    for piece in filter(None, pieces):
        longest = max(_IDENTIFIER.finditer(piece), key=lambda match: len(match.group()), default=None)
        if longest is None:
            marks.add(piece)
            continue
        start, end = longest.span()
        patterns.add(("^" if start else "") + longest.group() + ("$" if end < len(piece) else ""))
    return Words(frozenset(filter(None, names)), re.compile("|".join(sorted(patterns)) or "(?!)"), tuple(sorted(marks)))
