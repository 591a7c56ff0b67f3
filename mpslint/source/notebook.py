"""The JSON of a notebook as text: its cells as they are written, where the source of each lies in it, and how a changed one is written
back.

Only the JSON strings of changed cells are touched, and in them only the changed characters: indent, key order, escapes, line ends and
the final newline of the file stay as they are. (nbformat's writer would re-indent two notebooks in five.) What the cells say is nbformat's
matter where the format is an old one; only where they lie is found here.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mpslint.core.finding import Edit, ReadError
from mpslint.core.record import record
from mpslint.source.notebook_format import is_old, kind_of_json, refused, upgraded

_DECODER = json.JSONDecoder(strict=False)
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_CHARACTER = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL)
SOURCE_KEYS = ("source", "input", "code")
"""The key of a cell's source: in format 4, in formats 2 and 3, and in format 1."""
NUL = "its source contains a NUL character"
_SPACE = re.compile(r"[ \t\r\n]*")


@record(frozen=True, slots=True)
class SourceText:
    """Where the source of one cell lies in the JSON text: the value, and the string literals it is made of."""

    start: int
    end: int
    literals: tuple[tuple[int, int], ...]
    is_list: bool
    glue: str = ""
    """What joins the strings of a list: a line end, where formats 2 and 3 keep lines without their own."""
    offsets: Sequence[int] = (0,)
    """The offset in the cell at which each literal begins, and where the last one ends."""


@record(frozen=True, eq=False)
class NotebookText:
    """The JSON text of a notebook with the places of its sources, found when first asked for."""

    raw: str
    numbers: tuple[int, ...]
    """The number (from 1) of each cell that the Document holds, in order."""

    @functools.cached_property
    def _starts(self) -> Sequence[int]:
        """Where the object of each cell of the notebook begins."""
        return list(_cell_starts(self.raw))

    @functools.cached_property
    def _known(self) -> dict[int, SourceText]:
        """The sources that were asked for. (A cache of the function would keep the text of every notebook of a run.)"""
        return {}

    def source(self, index: int) -> SourceText:
        """Return the place of the source of one of those cells."""
        if index not in self._known:
            self._known[index] = _source_of(self.raw, self._starts[self.numbers[index] - 1])
        return self._known[index]

    def physical(self, index: int, offset: int) -> tuple[int, int]:
        """Return the line and column of the JSON text (from 1) at which the character at an offset in a cell is written."""
        return self._place(index, offset, bisect.bisect_right)

    def physical_end(self, index: int, offset: int) -> tuple[int, int]:
        """Return the line and column right behind the character before an offset: the end of a range that ends there."""
        return self._place(index, offset, bisect.bisect_left if offset else bisect.bisect_right)

    def _place(self, index: int, offset: int, bisected: Callable[[Sequence[int], int], int]) -> tuple[int, int]:
        source = self.source(index)
        if not source.literals:
            return self._line_and_column(source.start)
        literal = min(bisected(source.offsets, offset), len(source.literals)) - 1
        start, end = source.literals[literal]
        characters = _characters(self.raw[start + 1 : end - 1])[: offset - source.offsets[literal]]
        return self._line_and_column(start + 1 + sum(len(written) for _, written in characters))

    def _line_and_column(self, position: int) -> tuple[int, int]:
        line = bisect.bisect_left(self._line_ends, position)
        return line + 1, position - (self._line_ends[line - 1] if line else -1)

    @functools.cached_property
    def _line_ends(self) -> Sequence[int]:
        return [match.start() for match in re.finditer("\n", self.raw)]

    def write(self, edits: Sequence[tuple[int, Edit]]) -> str:
        """Return the JSON text with edits made: pairs of an index into the cells and an Edit counted from the cell's start."""
        pieces, position = [], 0
        keep_ascii = self.raw.isascii() and re.search(r"\\u(?!00[0-7])[0-9a-fA-F]{4}", self.raw) is not None
        for index, group in itertools.groupby(sorted(edits, key=lambda pair: (pair[0], pair[1].span)), key=lambda pair: pair[0]):
            source = self.source(index)
            pieces += [self.raw[position : source.start], _rewrite(self.raw, source, [edit for _, edit in group], keep_ascii)]
            position = source.end
        return "".join([*pieces, self.raw[position:]])


def _rewrite(raw: str, source: SourceText, edits: Sequence[Edit], keep_ascii: bool) -> str:
    """Return the JSON of one source with edits made; strings that no edit touches keep their very characters."""
    old: list[_Character] = []
    for literal, (start, end) in enumerate(source.literals):
        old += [_Character(source.glue, "", literal - 1)] if literal and source.glue else []
        old += [_Character(*character, literal) for character in _characters(raw[start + 1 : end - 1])]
    # Notebook editors write each line as a string of its own.
    is_split = all((a.text == "\n") == (a.literal != b.literal) for a, b in itertools.pairwise(old))
    unwritten = source.glue if is_split else ""
    new: list[_Character] = []
    position = 0
    for edit in edits:
        new += old[position : edit.span.start]
        literal = new[-1].literal if new else 0
        new += [
            _Character(text, "" if text == unwritten else json.dumps(text, ensure_ascii=keep_ascii)[1:-1], literal) for text in edit.text
        ]
        position = edit.span.end
    new += old[position:]
    if not source.is_list:
        return '"' + "".join(character.written for character in new) + '"'
    strings = _lines(new, keeps_last=bool(source.glue)) if is_split else _literals(new)
    opening = raw[source.start + 1 : source.literals[0][0]] if source.literals else ""
    closing = raw[source.literals[-1][1] : source.end - 1] if source.literals else ""
    gaps = [raw[a_end:b_start] for (_, a_end), (b_start, _) in itertools.pairwise(source.literals)]
    gap = gaps[0] if gaps else "," + (opening or " ")
    joints = (gaps + [gap] * len(strings))[: max(0, len(strings) - 1)]
    body = "".join(f'"{text}"{joint}' for text, joint in zip(strings, [*joints, ""], strict=False))
    return f"[{opening}{body}{closing}]"


@record(frozen=True, slots=True)
class _Character:
    """A character of a source, how the JSON writes it, and which string of the source it belongs to."""

    text: str
    written: str
    literal: int


def _literals(characters: Sequence[_Character]) -> list[str]:
    groups = itertools.groupby(characters, key=lambda character: character.literal)
    return ["".join(character.written for character in group) for _, group in groups]


def _lines(characters: Sequence[_Character], keeps_last: bool) -> list[str]:
    """Return what is written of each line; behind the last line end there's one more where no string ends with one."""
    lines: list[list[str]] = [[]]
    for character in characters:
        lines[-1].append(character.written)
        if character.text == "\n":
            lines.append([])
    return ["".join(line) for line in lines if line or keeps_last]


def _characters(literal: str) -> list[tuple[str, str]]:
    """Return (character, how the file writes it) for the inside of a JSON string."""
    return [(written, written) if written[0] != "\\" else (json.loads(f'"{written}"'), written) for written in _CHARACTER.findall(literal)]


def _skip(raw: str, position: int) -> int:
    """Return the end of the JSON value that starts at `position`."""
    return _end_of_string(raw, position) if raw[position] == '"' else _DECODER.raw_decode(raw, position)[1]


def _end_of_string(raw: str, position: int) -> int:
    end = raw.find('"', position + 1)
    if raw[end - 1] != "\\":  # an image is megabytes without a backslash
        return end + 1 or len(raw)
    match = _STRING.match(raw, position)
    return match.end() if match else len(raw)


def _parts(raw: str, position: int) -> Iterator[tuple[str, int, int]]:
    """Yield (key, start, end) for each member of the object, or item of the array, at `position`; the key of an item is ''."""
    is_object = raw[position] == "{"
    position = skip_blanks(raw, position + 1)
    while raw[position] not in "]}":
        key, start = "", position
        if is_object:
            key_end = _end_of_string(raw, position)
            key = _key(raw, position, key_end)
            start = skip_blanks(raw, skip_blanks(raw, key_end) + 1)
        end = _skip(raw, start)
        yield key, start, end
        position = skip_blanks(raw, end)
        if raw[position] == ",":
            position = skip_blanks(raw, position + 1)


def _last_member(raw: str, position: int, keys: Sequence[str]) -> tuple[str, int, int] | None:
    """Return the first of `keys` that the object has, and (start, end) of its value; of a key written twice, the last."""
    members = {key: (key, start, end) for key, start, end in _parts(raw, position) if key in keys}
    return next((members[key] for key in keys if key in members), None)


def _cell_starts(raw: str) -> Iterator[int]:
    """Yield where each cell's object begins, in the order of `load_cells`."""
    top = skip_blanks(raw, 0)
    cells = _cells_in(raw, top)
    if cells is not None:
        yield from cells
        return
    sheets = _last_member(raw, top, ("worksheets",))
    for _, sheet, _ in _parts(raw, sheets[1]) if sheets else ():
        yield from (_cells_in(raw, sheet) if raw[sheet] == "{" else None) or ()


def _cells_in(raw: str, position: int) -> list[int] | None:
    """Return where each item of the array `cells` of the object at `position` begins; None where it has no such array."""
    cells = _last_member(raw, position, ("cells",))
    return [start for _, start, _ in _parts(raw, cells[1])] if cells is not None and raw[cells[1]] == "[" else None


def _key(raw: str, start: int, end: int) -> str:
    inside = raw[start + 1 : end - 1]
    return inside if "\\" not in inside else _DECODER.decode(raw[start:end])


def _source_of(raw: str, cell: int) -> SourceText:
    """Return where the source of the cell at `cell` lies; a cell without one gets an empty place."""
    value = _last_member(raw, cell, SOURCE_KEYS) if raw[cell] == "{" else None
    if value is None:
        return SourceText(cell, cell, (), False)
    key, start, end = value
    is_list = raw[start] == "["
    literals = tuple((a, b) for _, a, b in (_parts(raw, start) if is_list else [("", start, end)]) if raw[a] == '"')
    glue = glue_of(key, raw[slice(*literals[0])][1:-1]) if is_list and literals else ""
    lengths = (len(_DECODER.raw_decode(raw, begin)[0]) + len(glue) for begin, _ in literals)
    return SourceText(start, end, literals, is_list, glue, [0, *itertools.accumulate(lengths)])


@record(frozen=True, slots=True)
class RawCell:
    """A cell as the notebook's JSON has it."""

    number: int
    data: dict[str, Any]
    source: str
    flaw: str = ""
    """Why it can't be read; its source is then ''."""


def load_cells(raw: str, path: str) -> tuple[list[RawCell], dict[str, Any]]:
    """Return the cells of a notebook, and its metadata.

    Formats 1 to 3 are read as nbformat upgrades them. Raises ReadError, with the line, when the text is not JSON or not a notebook.
    """
    try:
        data = json.loads(raw)
    except json.JSONDecodeError as error:
        raise ReadError(f"{path}:{error.lineno}:{error.colno}: not valid JSON: {error.msg}") from None
    except ValueError as error:  # a number of 5,000 digits
        raise ReadError(f"{path}: not a notebook: {str(error).partition(';')[0]}") from None
    except RecursionError:
        raise ReadError(f"{path}: not a notebook: its JSON is nested too deeply") from None
    cells = _cells_of(data, raw, path)
    metadata = data.get("metadata")
    return [_cell(*pair) for pair in enumerate(cells, start=1)], metadata if isinstance(metadata, dict) else {}


def _cells_of(data: Any, raw: str, path: str) -> Sequence[Any]:
    """Return the cells of a notebook in the current format. Raises ReadError, which says why it is none."""
    if is_old(data):
        new = upgraded(raw, data, path)
        old = [cell for sheet in data.get("worksheets", [data]) for cell in sheet["cells"]]
        kept = [{"language": cell.get("language", "python"), "id": ""} for cell in old]  # an upgrade draws ids
        return [{**cell, **own} for cell, own in zip(new, kept, strict=True)]
    if isinstance(data, dict) and isinstance(data.get("cells"), list):
        cells: Sequence[Any] = data["cells"]
        return cells
    raise refused(data, path)


def _cell(number: int, cell: Any) -> RawCell:
    """Return a cell; one that can't be read as an empty one of code, with the reason."""
    if not isinstance(cell, dict):
        return RawCell(number, {"cell_type": "code"}, "", f"it is {kind_of_json(cell)}, not an object")
    if not isinstance(cell.get("cell_type"), str):
        flaw = f"its cell_type is {kind_of_json(cell['cell_type'])}, not text" if "cell_type" in cell else "it has no cell_type"
        return RawCell(number, {**cell, "cell_type": "code"}, "", flaw)
    key = next((key for key in SOURCE_KEYS if key in cell), "")
    source = cell.get(key, "")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = glue_of(key, source[0] if source else "").join(source)
    if not isinstance(source, str):
        inside = " of more than texts" if isinstance(source, list) else ""
        return RawCell(number, cell, "", f"its source is {kind_of_json(source)}{inside}, not text")
    return RawCell(number, cell, "", NUL) if "\0" in source else RawCell(number, cell, source)


def glue_of(key: str, first: str) -> str:
    """Return what joins the strings of a source, by its key and the first of them, as it is or as JSON writes it.

    Formats 2 and 3 kept lines without their ends at first.
    """
    return "\n" if key == "input" and not first.endswith(("\n", "\r", "\\n", "\\r")) else ""


def skip_blanks(raw: str, position: int) -> int:
    """Return where the white space at a position ends."""
    match = _SPACE.match(raw, position)
    return match.end() if match else position
