"""Which functions are worth walking: those in whose text a word stands that some rule could be about."""

from __future__ import annotations

import ast
import bisect
import functools
from collections.abc import Iterable
from dataclasses import field

from mpslint.core.record import record
from mpslint.facts.values import Function, Instance, Known, Symbol, Value, alternatives_of
from mpslint.source.document import Document
from mpslint.source.words import Words, places_of
from mpslint.tensors.traits import is_module_class

SHORT = 30
"""Lines; a function no longer than this is followed for what it returns, whatever it holds."""


@record()
class Relevance:
    """The words that matter in a Document, and the names that stand for such a word (`device = "cuda"`)."""

    document: Document
    words: Words | None = None
    """None if everything matters."""
    names: set[str] = field(default_factory=set)
    answers: dict[int, bool] = field(default_factory=dict)

    @functools.cached_property
    def _places(self) -> list[int]:
        """Where an identifier that matters stands in the Document, in order: of the files of a run, each is searched once for all runs."""
        words = self.words
        if words is None:
            return []
        if not self.document.parts:
            return _places_in(self.document, words)
        return [part.span.start + at for part in self.document.parts for at in _places_in(part.document, words)]

    def of(self, function: Function) -> bool:
        """Return whether a function's text holds a word that matters, or a name that stands for one."""
        if self.words is None:
            return True
        node = function.node
        if id(node) not in self.answers:
            start, end = self._lines(node)
            index = bisect.bisect_left(self._places, start)
            is_named = index < len(self._places) and self._places[index] < end
            self.answers[id(node)] = is_named or self.words.marks_in(self.document.code[start:end])
        return self.answers[id(node)] or self._names_one(node)

    def is_worth_following(self, function: Function, given: Iterable[Value] = ()) -> bool:
        """Return whether a call of a function should be followed: it matters, it is quickly done, or it is given what matters."""
        node = function.node
        is_of_module = function.cls is not None and is_module_class(function.cls)
        is_short = (node.end_lineno or node.lineno) - node.lineno < SHORT
        return is_short or is_of_module or self.of(function) or any(map(self._speaks, given))

    def note_names(self, slots: Iterable[tuple[object, Value]]) -> None:
        """Note the names among some slots whose value is, or may be, a text or an outside name that matters."""
        for name, value in slots:
            if isinstance(name, str) and name not in self.names and any(map(self._speaks, alternatives_of(value))):
                self.names.add(name)

    def _speaks(self, value: Value) -> bool:
        if isinstance(value, Instance) and value.kind:
            return True  # what happens to tensors and modules matters whatever it is called
        text = value.value if isinstance(value, Known) else value.name if isinstance(value, Symbol) else None
        return isinstance(text, str) and self.words is not None and self.words.are_in(text)

    def _names_one(self, node: ast.AST) -> bool:
        if not self.names:
            return False
        text = self._text(node)
        return any(name in text for name in self.names)

    def _text(self, node: ast.AST) -> str:
        """Return the lines of a function, as far as Python runs them."""
        start, end = self._lines(node)
        return self.document.code[start:end]

    def _lines(self, node: ast.AST) -> tuple[int, int]:
        """Return where the lines of a function begin and end."""
        starts = self.document.line_starts
        first: int = node.lineno  # type: ignore[attr-defined]
        last: int = node.end_lineno or first  # type: ignore[attr-defined]
        return starts[first - 1], starts[last] if last < len(starts) else len(self.document.code)


def _places_in(document: Document, words: Words) -> list[int]:
    """Return where an identifier that matters stands in one file, in order."""
    key = "places", words
    if key not in document.memo:
        document.memo[key] = sorted(at for word in words.among(document.code_identifiers) for at in places_of(word, document.code))
    found: list[int] = document.memo[key]
    return found
