"""The cells of a notebook, as its JSON has them."""

from __future__ import annotations

import json
import re
from typing import Any

from mpslint.core.finding import ReadError
from mpslint.core.record import record

SOURCE_KEYS = ("source", "input")
"""Under which the source of a cell stands: in format 4, and before."""
_STRICT = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")


@record(frozen=True, slots=True)
class RawCell:
    """A cell as the notebook's JSON has it."""

    number: int
    data: dict[str, Any]
    source: str


def load_cells(raw: str, path: str) -> tuple[list[RawCell], dict[str, Any], tuple[int, ...]]:
    """Return the cells of a notebook, its metadata, and where each cell begins if that was seen on the way (else nothing).

    Formats 4, 3 and 2 are read as they stand. Raises ReadError, with the line, when the text is not JSON or not a notebook.
    """
    try:
        data, starts = _with_starts(raw) or (json.loads(raw), ())
    except json.JSONDecodeError as error:
        raise ReadError(f"{path}:{error.lineno}:{error.colno}: not valid JSON: {error.msg}") from None
    except ValueError as error:  # a number of 5,000 digits
        raise ReadError(f"{path}: not a notebook: {str(error).partition(';')[0]}") from None
    except RecursionError:
        raise ReadError(f"{path}: not a notebook: its JSON is nested too deeply") from None
    cells = _cells_of(data)
    if cells is None:
        raise ReadError(f"{path}: not a notebook: {_explain(data)}")
    found = []
    for number, cell in enumerate(cells, start=1):
        if isinstance(cell, dict):
            source = next((cell[key] for key in SOURCE_KEYS if key in cell), "")
            if isinstance(source, list) and all(isinstance(line, str) for line in source):
                source = "".join(source)
            if isinstance(source, str):
                found.append(RawCell(number, cell, source))
    metadata = data.get("metadata")
    return found, metadata if isinstance(metadata, dict) else {}, starts


def _with_starts(raw: str) -> tuple[dict[str, Any], tuple[int, ...]] | None:
    """Return what a notebook's JSON says and where each of its cells begins, read in one go; None where it is anything but well formed."""
    data: dict[str, Any] = {}
    starts: tuple[int, ...] = ()
    position = skip_blanks(raw, 0)
    mark = "," if raw[position : position + 1] == "{" else ""
    try:
        while mark == ",":
            key, position = _STRICT.raw_decode(raw, skip_blanks(raw, position + 1))
            position = skip_blanks(raw, position)
            if not isinstance(key, str) or raw[position] != ":":
                return None
            position = skip_blanks(raw, position + 1)
            if key == "cells" and raw[position] == "[":
                data[key], starts, position = _array_with_starts(raw, position)
            else:
                data[key], position = _STRICT.raw_decode(raw, position)
            position = skip_blanks(raw, position)
            mark = raw[position]
    except (ValueError, IndexError, RecursionError):
        return None
    is_whole = mark == "}" and skip_blanks(raw, position + 1) == len(raw)
    return (data, starts) if is_whole and isinstance(data.get("cells"), list) else None


def _array_with_starts(raw: str, position: int) -> tuple[list[Any], tuple[int, ...], int]:
    """Return the items of the array at `position`, where each begins, and where the array ends. Raises ValueError where it is malformed."""
    items: list[Any] = []
    starts: list[int] = []
    mark = ","
    if raw[(after := skip_blanks(raw, position + 1))] == "]":
        return items, (), after + 1
    while mark == ",":
        start = skip_blanks(raw, position + 1)
        item, end = _STRICT.raw_decode(raw, start)
        items.append(item)
        starts.append(start)
        position = skip_blanks(raw, end)
        mark = raw[position]
    if mark != "]":
        raise ValueError(f"neither ',' nor ']' at {position}")
    return items, tuple(starts), position + 1


def _cells_of(data: Any) -> list[Any] | None:
    """Return the list of cells, wherever the format keeps it, or None."""
    if not isinstance(data, dict):
        return None
    if isinstance(data.get("cells"), list):
        cells: list[Any] = data["cells"]
        return cells
    sheets = data.get("worksheets")
    if not isinstance(sheets, list):
        return None
    return [cell for sheet in sheets if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list) for cell in sheet["cells"]]


def _explain(data: Any) -> str:
    """Return in one line why this JSON is no notebook."""
    if not isinstance(data, dict):
        return f"the JSON holds a {type(data).__name__}, not an object with cells"
    if "cells" in data:
        return f"its `cells` are of type {type(data['cells']).__name__}, not a list"
    return "it has no list of cells"


def skip_blanks(raw: str, position: int) -> int:
    """Return where the white space at a position ends."""
    match = _SPACE.match(raw, position)
    return match.end() if match else position
