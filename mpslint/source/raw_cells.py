"""The cells of a notebook, as its JSON has them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from mpslint.core.finding import ReadError
from mpslint.core.record import record
from mpslint.source.notebook_format import is_old, kind_of_json, refused, upgraded

SOURCE_KEYS = ("source", "input", "code")
"""The key of a cell's source: in format 4, in formats 2 and 3, and in format 1."""
NUL = "its source contains a NUL character"
_SPACE = re.compile(r"[ \t\r\n]*")


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
