"""A file as text with places. A notebook is one text: its Python cells, one after the other.

Every offset in mpslint counts characters of `Document.text`. Magics are masked, and scripts inside cells are set apart, by texts of
the very same length, so that an offset means the same place in all of them.
"""

from __future__ import annotations

import bisect
import dataclasses
import enum
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mpslint.core.finding import Edit, Span
from mpslint.core.record import record

NEWLINE = re.compile(r"\r\n|\r|\n")
_TOKEN = re.compile(
    r"#[^\n]*"
    r'|"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
    r"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'(?:[^'\\\n]|\\.)*'",
    re.DOTALL,
)
_MARK = re.compile(r"#|\"\"\"|'''")


class Kind(enum.Enum):
    """What a file is read as."""

    PYTHON = "python"
    NOTEBOOK = "notebook"
    SHELL = "shell"
    ENV = "env"
    YAML = "yaml"
    JSON = "json"
    DOCKERFILE = "dockerfile"
    MAKEFILE = "makefile"


@record(frozen=True, slots=True)
class Cell:
    """A cell of a notebook whose text is part of `Document.text`."""

    number: int
    """1 for the first cell, whatever its type."""
    id: str
    """The cell's own id, or '' in formats before 4.5."""
    span: Span
    """Where its text lies in `Document.text`."""
    tags: tuple[str, ...] = ()
    execution_count: int | None = None
    """The number that Jupyter shows beside it, if it ran."""


class SnippetKind(enum.Enum):
    """What a piece of a notebook is that is not Python of the notebook itself."""

    SHELL = "shell"
    """`!cmd`, `%%bash`."""
    ENV = "env"
    """`%env NAME=value`."""
    INSTALL = "install"
    """`%pip install ...`, `pip install ...`."""
    RUN = "run"
    """`%run train.py --epochs 3`, without the percent sign."""
    FOLDER = "folder"
    """`%cd scripts`, without the percent sign."""


@record(frozen=True, slots=True)
class Snippet:
    """Shell text or an environment setting inside a notebook; `span` covers exactly `text`."""

    kind: SnippetKind
    span: Span
    text: str


@record(frozen=True, slots=True)
class Written:
    """A word that a program starts another with: its text (None where not all of it is known), as it is written, and where that begins."""

    text: str | None
    raw: str
    start: int
    is_weak: bool = False
    """It rests on a default that may be changed from outside."""


@record(frozen=True, slots=True)
class Spawned:
    """A command that Python code starts, in a folder; `span` is the call that does it."""

    words: tuple[Written, ...]
    span: Span
    folder: str
    is_shell: bool
    """The one word is the text that a shell is given."""


@record(frozen=True, slots=True)
class Unread:
    """A part of a file that could not be read, and why; it is reported, never taken for clean."""

    span: Span
    reason: str


@record(frozen=True, slots=True)
class Place:
    """Where something is, in the words of whoever looks at the file. Lines and columns start at 1, columns count characters."""

    line: int
    column: int
    cell: int | None = None
    cell_id: str = ""
    physical_line: int = 0
    """The line in the file itself: for a notebook, the line of the JSON text."""
    physical_column: int = 0
    """The column there: for a notebook, inside the JSON string."""
    execution_count: int | None = None
    """In a notebook: the number that Jupyter shows beside the cell, if it ran."""
    path: str = ""
    """The file, where that is another than the one that is spoken of."""

    @property
    def words(self) -> str:
        """The place without its file: `line 7`, in a notebook `cell 12, line 7`."""
        return f"cell {self.cell}, line {self.line}" if self.cell is not None else f"line {self.line}"

    @property
    def shown(self) -> str:
        """The place with its file, where that is another than the one that is spoken of."""
        return f"{self.path}, {self.words}" if self.path else self.words


@record(frozen=True, slots=True, eq=False)
class Part:
    """A file whose text is part of the joined text of a run."""

    document: Document
    span: Span
    """Where its text lies in the joined text."""
    first_line: int
    """The line (from 1) of the joined text on which it begins."""
    lines: int
    """How many lines of the joined text are its own."""


@record(frozen=True)
class Document:
    """One file that was read. `python` and `scripts` have the length of `text`; what is not theirs is blank in them."""

    path: str
    kind: Kind
    text: str
    python: str = ""
    """The Python to analyse: `text` with magics masked. Empty for a file that holds no Python."""
    scripts: tuple[str, ...] = ()
    """Python files that cells write (`%%writefile train.py`): each a program of its own."""
    snippets: tuple[Snippet, ...] = ()
    spawned: tuple[Spawned, ...] = ()
    """The commands that its Python code starts on a Mac."""
    cells: tuple[Cell, ...] = ()
    unread: tuple[Unread, ...] = ()
    write_back: Callable[[Sequence[Edit]], bytes] | None = None
    """Return the bytes of the file with these edits of `text` made (sorted, not overlapping), everything else as it was."""
    physical: Callable[[int, int], tuple[int, int]] | None = None
    """For a notebook: the line and column of the JSON text for an index into `cells` and an offset in that cell."""
    physical_end: Callable[[int, int], tuple[int, int]] | None = None
    """The same for the end of a range, which lies right behind the character before the offset."""
    language: str = ""
    """The language of a notebook whose kernel isn't Python's: none of its cells is read."""
    is_unordered: bool = False
    """Its cells run in the order in which they need each other's names (marimo), not in that of the file."""
    parts: tuple[Part, ...] = ()
    """The files that a run reads, in the order of their lines: `text` is theirs joined. Empty for a Document of one file."""
    started: Part | None = None
    """The file of a run that is started."""

    @functools.cached_property
    def line_starts(self) -> list[int]:
        """The offset of each line of `text`."""
        if not self.parts:
            return [0, *(match.end() for match in NEWLINE.finditer(self.text))]
        starts: list[int] = []
        for part in self.parts:  # lines that no file has, between those of two files, begin where the second does
            starts += [part.span.start] * (part.first_line - 1 - len(starts))
            starts += [part.span.start + start for start in part.document.line_starts[: part.lines]]
        return starts

    @functools.cached_property
    def _cell_starts(self) -> list[int]:
        return [cell.span.start for cell in self.cells]

    @functools.cached_property
    def code(self) -> str:
        """`text` without what Python does not run: comments, and texts over several lines; the whole of it where it is not Python."""
        if self.parts:
            return "".join(part.document.code for part in self.parts)
        if self.kind is Kind.PYTHON:
            return bare(self.python)
        if self.kind is not Kind.NOTEBOOK:
            return self.text
        pieces, end = [], 0
        for cell in self.cells:
            start, python = cell.span.start, self.python[cell.span.start : cell.span.end]
            pieces += [self.python[end:start], bare(python) if python.strip() else self.text[start : cell.span.end]]
            end = cell.span.end
        return "".join([*pieces, self.python[end:]])

    @functools.cached_property
    def memo(self) -> dict[Any, Any]:
        """What was worked out once for this text, by name: the files of a project are part of many runs."""
        return {}

    def offset(self, line: int, utf8_column: int) -> int:
        """Return the offset for a line (from 1) and a column counted in UTF-8 bytes, as `ast` counts."""
        start = self.line_starts[line - 1]
        if self.text.isascii():
            return start + utf8_column
        end = self.line_starts[line] if line < len(self.line_starts) else len(self.text)
        return start + len(self.text[start:end].encode("utf-8", "surrogatepass")[:utf8_column].decode("utf-8", "ignore"))

    def line_at(self, offset: int) -> int:
        """Return the line of `text` (from 1) that an offset lies on."""
        return bisect.bisect_right(self.line_starts, offset)

    def line_text(self, line: int) -> str:
        """Return a line of `text` (from 1) without its line end."""
        start = self.line_starts[line - 1]
        end = self.line_starts[line] if line < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    def lines_of(self, span: Span) -> Span:
        """Return the whole lines that a span is on, with the line ends that belong to them: at the end of a cell, the one before."""
        first, last = self.line_starts[self.line_at(span.start) - 1], self.line_at(span.end)
        end = self.line_starts[last] if last < len(self.line_starts) else len(self.text)
        cell = self.cell_at(span.start)
        if cell is None or end <= cell.span.end:
            return Span(first, end)
        return Span(first if first == cell.span.start else first - 1, cell.span.end)

    def newline_at(self, offset: int) -> str:
        """Return the line end of the line at an offset, which a line that is put there gets too: files of a run may differ in it."""
        end = self.text.find("\n", offset)
        end = self.text.rfind("\n", 0, offset) if end < 0 else end
        return "\r\n" if end > 0 and self.text[end - 1] == "\r" else "\n"

    def cell_at(self, offset: int) -> Cell | None:
        """Return the cell that an offset lies in, or None outside notebooks."""
        index = bisect.bisect_right(self._cell_starts, offset) - 1
        is_beyond = index >= 0 and bool(self.parts) and self.part_at(offset) is not self.started
        return self.cells[index] if index >= 0 and not is_beyond else None

    def part_at(self, offset: int) -> Part:
        """Return the file of a run that an offset lies in; the Document itself where it is one file."""
        if not self.parts:
            return Part(self, Span(0, len(self.text)), 1, len(self.line_starts))
        return self.parts[bisect.bisect_right(self.parts, offset, key=lambda part: part.span.start) - 1]

    def place(self, offset: int) -> Place:
        """Return the place of an offset: line and column, in its cell where there are cells."""
        return self._place(offset, self.physical)

    def end_place(self, span: Span) -> Place:
        """Return the place at which a span ends; in the JSON of a notebook that is never in the string after its last character."""
        return self._place(span.end, self.physical_end if span.end > span.start else self.physical)

    def _place(self, offset: int, physical: Callable[[int, int], tuple[int, int]] | None) -> Place:
        if self.parts:
            part = self.part_at(offset)
            inner = part.document.place(offset - part.span.start)
            return inner if part is self.started else dataclasses.replace(inner, path=part.document.path)
        line = self.line_at(offset)
        column = offset - self.line_starts[line - 1] + 1
        index = bisect.bisect_right(self._cell_starts, offset) - 1
        if index < 0 or physical is None:
            return Place(line, column, physical_line=line, physical_column=column)
        cell = self.cells[index]
        cell_line = line - self.line_at(cell.span.start) + 1
        return Place(cell_line, column, cell.number, cell.id, *physical(index, offset - cell.span.start), cell.execution_count)


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def without_surrogates(text: str) -> str:
    """Return the text with half surrogate pairs replaced, which no parser takes."""
    return text if text.isascii() else _LONE_SURROGATE.sub("?", text)


def bare(text: str) -> str:
    """Return Python with spaces for its comments and for every text over several lines that is no f-string.

    No name, device or argument is written in a text of several lines: those are documentation, prompts and templates.
    """
    pieces: list[str] = []
    kept = 0
    for start, end in _tokens(text):
        is_comment = text[start] == "#"
        if is_comment or ("\n" in text[start:end] and not text[max(0, start - 2) : start].lower().endswith(("f", "fr"))):
            pieces += [text[kept:start], "\n".join([" " * len(line) for line in text[start:end].split("\n")])]
            kept = end
    return "".join([*pieces, text[kept:]])


def _tokens(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each comment and each string of several lines lies, and some of the strings of one line."""
    if "\\\n" in text:  # a string of one line may go on in the next
        yield from (match.span() for match in _TOKEN.finditer(text))
        return
    position = 0
    while (mark := _MARK.search(text, position)) is not None:
        line = max(position, text.rfind("\n", position, mark.start()) + 1)
        for token in _TOKEN.finditer(text, line):
            position = token.end()
            if position > mark.start():
                yield token.span()
                break
