"""Python in the syntax of a newer version than the one that runs -> the same program in older syntax, byte for byte in the same places.

`ast` reads the running Python's syntax only; LibCST reads all of it (PEP 654, 695, 696, 701, 750, 758, 810).
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

if TYPE_CHECKING:  # the oldest LibCST that mpslint takes has no TemplatedString
    _Strings: TypeAlias = cst.FormattedString | cst.TemplatedString
_LAZY = re.compile(r"lazy([ \t]+)((?:import|from)\b[^\n]*)")
_OPAQUE = "_"
_BRACKET = re.compile(r"[()\[\]{}]")
DEEPEST, LONGEST = 60, 5_000
"""Brackets in brackets, and characters of a line or a pair of brackets, beyond which a text is not read."""
LARGEST = 200_000
"""Characters of a text beyond which it is not read: LibCST takes 15 s and 1 GB for a million."""


def in_older_syntax(text: str) -> str | None:
    """Return the program with what only newer versions parse written so that older ones do; None where that can't be done.

    Every line stays, and every other expression keeps its line and column. What an older f-string can't hold becomes an unknown name.
    """
    if len(text) > LARGEST or _is_deep(text):
        return None
    try:
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    except (cst.ParserSyntaxError, RecursionError, UnicodeEncodeError):
        return None
    found = _Newer(text)
    wrapper.visit(found)
    if not found.edits:
        return None
    pieces, kept = [], 0
    for start, end, new in sorted(found.edits):
        if start >= kept:
            pieces += [text[kept:start], new]
            kept = end
    return "".join([*pieces, text[kept:]])


def _is_deep(text: str) -> bool:
    """Return whether brackets may be nested so deep, or hold so much, that LibCST's parser would overflow the stack and end the process."""
    depth = start = 0
    for found in _BRACKET.finditer(text):
        if depth > 0 and found.start() - start > LONGEST:
            return True
        opens = found.group() in "([{"
        start = found.start() if opens and depth <= 0 else start
        depth = max(depth, 0) + (1 if opens else -1)
        if depth > DEEPEST:
            return True
    return (depth > 0 and len(text) - start > LONGEST) or any(len(line) > LONGEST for line in text.splitlines())


class _Newer(cst.CSTVisitor):
    """Collects edits of the same length for every construct that an older Python doesn't parse."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.edits: list[tuple[int, int, str]] = []
        self._lines = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]

    def visit_FormattedString(self, node: cst.FormattedString) -> bool:
        return self._string(node)

    def visit_TemplatedString(self, node: cst.TemplatedString) -> bool:
        return self._string(node)

    def visit_ExceptHandler(self, node: cst.ExceptHandler) -> None:
        self._in_brackets(node)

    def _in_brackets(self, node: cst.ExceptHandler | cst.ExceptStarHandler) -> None:
        """`except A, B:` (3.14) -> `except(A,B):`."""
        if isinstance(node.type, cst.Tuple) and not node.type.lpar:
            start, end = self._span(node.type)
            inner = self.text[start:end]
            squeezed = inner.replace(", ", ",", 1)
            if len(squeezed) == len(inner):  # no room for a parenthesis: `|` stands for the comma
                self.edits.append((start, end, inner.replace(",", "|")))
            else:
                self.edits.append((start - 1, end, f"({squeezed})"))

    def visit_ExceptStarHandler(self, node: cst.ExceptStarHandler) -> None:
        start, _ = self._span(node)
        star = self.text.index("*", start)
        self.edits.append((star, star + 1, " "))
        self._in_brackets(node)

    def visit_TypeParameters(self, node: cst.TypeParameters) -> bool:
        start, end = self._span(node)
        self.edits.append((start, end, _blank(self.text[start:end])))
        return False

    def visit_TypeAlias(self, node: cst.TypeAlias) -> bool:
        """`type Pair[T] = ...` -> `Pair         = ...`."""
        start, _ = self._span(node)
        value, _ = self._span(node.value)
        head = self.text[start : self.text.rindex("=", start, value)]
        self.edits.append((start, start + len(head), node.name.value + _blank(head)[len(node.name.value) :]))
        return False

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> None:
        """`lazy import x` (3.15) -> `import x`, with the spaces behind it."""
        start, _ = self._span(node)
        match = _LAZY.match(self.text, start)
        if match is not None:
            code, comment, rest = match[2].partition("#")
            self.edits.append((start, match.end(), code + " " * (match.start(2) - start) + comment + rest))

    def _string(self, node: _Strings) -> bool:
        """Rewrite a formatted string that doesn't parse here: other quotes inside, else an unknown name in place of what it holds."""
        start, end = self._span(node)
        written = self.text[start:end]
        for candidate in self._candidates(node, written, start):
            if _parses(candidate):
                if candidate != written:
                    self.edits.append((start, end, candidate))
                break
        return False

    def _candidates(self, node: _Strings, written: str, start: int) -> Iterator[str]:
        formatted = re.sub("^([rR]?)[tT]", r"\1f", written)
        yield formatted
        quote = node.end[0]
        other = "'" if quote == '"' else '"'
        holes = [self._span(part.expression) for part in node.parts if hasattr(part, "expression")]
        for write in (lambda hole: hole if other in hole or "\\" in hole else hole.replace(quote, other), _unknown):
            pieces, kept = [], 0
            for first, last in holes:
                pieces += [formatted[kept : first - start], write(formatted[first - start : last - start])]
                kept = last - start
            yield "".join([*pieces, formatted[kept:]])
        yield "(" + _unknown(formatted[1:-1]) + ")"

    def _span(self, node: cst.CSTNode) -> tuple[int, int]:
        place = self.get_metadata(PositionProvider, node)
        first, last = (self._lines[point.line - 1] + point.column for point in (place.start, place.end))
        return first, last


def _parses(expression: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(f"({expression})", mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _unknown(text: str) -> str:
    """Return a name that nothing binds, as many bytes long in as many lines: what is behind it on a line keeps its column."""
    blank = _blank(text, joins=False)
    first = next((index for index, letter in enumerate(blank) if letter == " "), None)
    return blank if first is None else blank[:first] + _OPAQUE + blank[first + 1 :]


def _blank(text: str, joins: bool = True) -> str:
    """Return spaces of the same bytes; `joins` puts a backslash before each line end, for what stands outside brackets."""
    spaces = "".join(letter if letter in "\r\n" else " " * len(letter.encode("utf-8", "replace")) for letter in text)
    return re.sub(r" (?=\r?\n)", r"\\", spaces) if joins else spaces
