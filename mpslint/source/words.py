"""Words to look for in a text, many at once: each distinct identifier of a text is asked once, whatever the number of words."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import field

from mpslint.core.record import record

_IDENTIFIER = re.compile(r"\w+")
_METHOD = re.compile(r"\.(\w+)\(")
_DOT, _CALL = re.compile(r"\.\s*$"), re.compile(r"\s*\(")
_QUOTE = re.compile(r"(?<![=!]=)(?<![=!]= )[\"']([\w,;:=|/ -]*[,;:=|/ -])?$")
_AMONG = re.compile(r"(\bfor\b[^\n]*)?\bin\s*[\[({](?:\s*[\"'][\w:]*[\"']\s*,)*\s*[\"']$")
"""The beginning of a list of words, up to one of them: something is compared with each, unless a loop goes through them."""
_NOT_COMPARED = re.compile(r"(?![\w:]*[\"']\s*(?:[=!]=|(?:not )?in\b))")
_MEMBER = re.compile(r"[\s\\]*\.[\s\\]*(\w+)")
_CALLED = re.compile(r"[\s\\]*\(")
_IMPORTED = re.compile(r"[\w\s,(\\]*")
_HEADER = re.compile(r"def(?<!\wdef)\s+\w+\s*(?:\[[^\n]*?\]\s*)?\(")
_LAMBDA = re.compile(r"lambda(?<!\wlambda)\b([^\n]*)")
"""Each begins with a plain text, which is found twenty times as fast as the beginning of a word (`\\b`)."""
_ANY_CASE = "(?i:"
"""Begins a pattern, written in small letters, that fits capital ones too."""
_ROUND = re.compile(r"[()]")
_NEAR = 40
"""Characters before a word in which its quote is looked for."""
_SPACED = bytes(byte if byte > 127 or chr(byte).isalnum() or chr(byte) == "_" else 32 for byte in range(256))
"""Each byte as it is, those of ASCII that belong to no identifier as a space: four times as fast as a regular expression."""

MOST_ASKED = 200_000
"""Identifiers to remember at most, in one process that checks very many files."""


OPEN = "/"
"""Begins a pattern among exact pieces: it may stand in a text whatever identifiers that has."""
IN_CELLS = "\0cells"
"""Stands for the cells and commands of a notebook among words."""


class RoleWords(str):
    """The words of every call that plays this role in a dialect, among words that are what they are."""


def identifiers_of(text: str) -> frozenset[str]:
    """Return every run of letters, digits and underscores in a text."""
    found = set(text.encode("utf-8", "surrogatepass").translate(_SPACED).decode("utf-8", "surrogatepass").split())
    if not text.isascii():
        mixed = [word for word in found if not word.isascii()]
        found.difference_update(mixed)
        found.update(part for word in mixed for part in _IDENTIFIER.findall(word))
    return frozenset(found)


def places_of(word: str, text: str) -> Iterator[int]:
    """Yield where an identifier stands in a text by itself."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not (_belongs(text[at - 1 : at]) or _belongs(text[end : end + 1])):
            yield at
        at = text.find(word, end)


def _belongs(character: str) -> bool:
    """Return whether a character is part of an identifier."""
    return character.isalnum() or character == "_"


@record(frozen=True, eq=False)
class Words:
    """Names that must stand by themselves, and pieces of text that may stand in longer ones.

    A piece counts as found where the longest name in it is: `.pad(` in `x.pad (y)` too. So more is found than was asked for, never less.
    """

    names: frozenset[str]
    pieces: tuple[str, ...]
    """Pieces of identifiers; with a space before or behind one with which an identifier begins or ends."""
    marks: tuple[str, ...]
    """Pieces that hold no letter or digit (`+=`)."""
    asked: set[str] = field(default_factory=set)
    """Identifiers that were asked for before."""
    found: set[str] = field(default_factory=set)
    """Those of them that are one of the names, or hold one of the pieces."""

    def among(self, identifiers: frozenset[str]) -> set[str]:
        """Return those of some identifiers that are one of the names, or hold one of the pieces."""
        new = identifiers - self.asked
        if new:
            if len(self.asked) > MOST_ASKED:
                self.asked.clear()
                self.found.clear()
                new = identifiers
            self.found.update(self.names & new, self._with_pieces(new))
            self.asked.update(new)
        return self.found & identifiers

    def _with_pieces(self, identifiers: Iterable[str]) -> Iterator[str]:
        """Yield those of some identifiers that hold a piece: each piece is looked for in all of them at once."""
        text = f" {' '.join(identifiers)} "
        for piece in self.pieces:
            at = text.find(piece)
            while at >= 0:
                end = text.index(" ", at + 1)
                yield text[text.rindex(" ", 0, at + 1) + 1 : end]
                at = text.find(piece, end)

    def are_in(self, text: str, identifiers: frozenset[str] | None = None) -> bool:
        """Return whether one of them stands in a text, of which `identifiers` are the identifiers, where they are known already."""
        return bool(self.among(identifiers_of(text) if identifiers is None else identifiers)) or self.marks_in(text)

    def marks_in(self, text: str) -> bool:
        """Return whether one of the marks stands in a text."""
        return any(mark in text for mark in self.marks)


def identifier_in(piece: str) -> tuple[str, bool, bool] | None:
    """Return the longest identifier in a piece of text, and whether it begins and ends there; None where there is none (`+=`)."""
    longest = max(_IDENTIFIER.finditer(piece), key=lambda match: len(match.group()), default=None)
    return (longest.group(), longest.start() > 0, longest.end() < len(piece)) if longest is not None else None


def quoted(word: str) -> str:
    """Return the piece of text that stands for a word in a string of a program, rather than among its names."""
    return f'"{word}'


def parameter(word: str) -> str:
    """Return the piece of text that stands for a parameter of a function which nothing but a call gives a value."""
    return f"({word}"


def found_by(pattern: str) -> str:
    """Return the piece of text that stands for whatever a regular expression finds."""
    return OPEN + pattern


def is_exact(piece: str) -> bool:
    """Return whether `stands_in` tells if a piece is there: a quoted word, a parameter, a method that is called (`.eval(`), a pattern."""
    return piece[:1] in ('"', "(", OPEN) or _METHOD.fullmatch(piece) is not None


def stands_in(text: str, piece: str) -> bool:
    """Return whether an exact piece stands in a text, however it is spaced.

    A quoted word counts after a few others too (`"cpu,cuda"`), but not where something is only compared with it (`kind == "cuda"`,
    `kind in ("cuda", "mps")`).
    """
    if piece[:1] == OPEN:
        if piece[1:].startswith(_ANY_CASE):  # seven times as fast as to leave the case to the pattern
            return re.search(piece[1:].replace(_ANY_CASE, "(?:"), text.lower()) is not None
        return re.search(piece[1:], text) is not None
    if piece[:1] == "(":
        return any(_takes(header, piece[1:]) for header in _headers(text))
    method = _METHOD.fullmatch(piece)
    word = method.group(1) if method is not None else piece[1:]
    before, after = (_DOT, _CALL) if method is not None else (_QUOTE, _NOT_COMPARED)
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if before.search(text[max(0, at - _NEAR) : at]) is not None and after.match(text, end) is not None:
            among = _AMONG.search(text[text.rfind("\n", 0, at) + 1 : at]) if method is None else None
            if among is None or among.group(1):
                return True
        at = text.find(word, end)
    return False


@functools.lru_cache(maxsize=60)
def _headers(text: str) -> tuple[str, ...]:
    """Return the parameters of each function of a program, as they are written; for a lambda, the rest of its line."""
    found = [text[at.end() : _closing(text, at.end())] for at in _HEADER.finditer(text)]
    return (*found, *_LAMBDA.findall(text))


def _closing(text: str, start: int) -> int:
    """Return where the bracket is closed that was opened before a place."""
    depth = 1
    for bracket in _ROUND.finditer(text, start):
        depth += 1 if bracket.group() == "(" else -1
        if not depth:
            return bracket.start()
    return len(text)


def _takes(header: str, word: str) -> bool:
    """Return whether a parameter of a function has a name, and no default unless it is given by name only; yes where that isn't plain."""
    if word not in header:
        return False
    try:
        given = ast.parse(f"def f({header}): pass").body[0].args  # type: ignore[attr-defined]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    names = [one.arg for one in (*given.posonlyargs, *given.args)]
    return word in (*names[: len(names) - len(given.defaults)], *(one.arg for one in given.kwonlyargs))


def may_name(code: str, names: Iterable[str]) -> bool:
    """Return whether code can mean one of some members of modules (`torch.cuda.is_available`) by their qualified names.

    It does where the member stands behind its module, and may do where the module is imported, or is the value of an attribute itself.
    """
    members: dict[str, set[str]] = {}
    for name in names:
        _, module, member = name.rsplit(".", 2)
        members.setdefault(module, set()).add(member)
    return any(_may_name(code, module, found) for module, found in members.items())


def _may_name(code: str, module: str, members: set[str]) -> bool:
    at = code.find(module)
    imported, read = -1, 0
    while at >= 0:
        end = at + len(module)
        if not (_IDENTIFIER.match(code, end) or _IDENTIFIER.match(code[at - 1 : at])):
            imported, read = max(imported, code.rfind("import", read, at)), max(read, at - len("import"))
            member = _MEMBER.match(code, end)
            if member.group(1) in members if member is not None else _is_value(code, at, end, imported):
                return True
        at = code.find(module, end)
    return False


def _is_value(code: str, start: int, end: int, imported: int) -> bool:
    """Return whether what stands in some place is an attribute that is not called, or a name of the import that begins before it."""
    if _DOT.search(code[max(0, start - _NEAR) : start]) is not None:
        return _CALLED.match(code, end) is None
    return imported >= 0 and _IMPORTED.fullmatch(code, imported, start) is not None


def words_of(names: Iterable[str], pieces: Iterable[str]) -> Words:
    """Return names and pieces as Words."""
    spaced: set[str] = set()
    marks: set[str] = set()
    for piece in filter(None, pieces):
        found = identifier_in(piece)
        if found is None:
            marks.add(piece)
            continue
        word, begins, ends = found
        spaced.add((" " if begins else "") + word + (" " if ends else ""))
    shortest = (piece for piece in spaced if not any(other != piece and other in piece for other in spaced))
    return Words(frozenset(filter(None, names)), tuple(sorted(shortest)), tuple(sorted(marks)))


def parts_of(words: Words) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return Words as plain data."""
    return tuple(sorted(words.names)), words.pieces, words.marks


def from_parts(names: Iterable[str], pieces: Iterable[str], marks: Iterable[str]) -> Words:
    """Return the Words that `parts_of` made this of."""
    return Words(frozenset(names), tuple(pieces), tuple(marks))
