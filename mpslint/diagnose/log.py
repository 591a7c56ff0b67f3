"""A log as one text: from a file, from standard input or from the stored outputs of a notebook, with true places."""

from __future__ import annotations

import bisect
import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from mpslint.core.finding import ReadError
from mpslint.core.outside import parse_json, read_file

_MAX_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class LogPlace:
    """Where a text stands: a line of the log, or for a notebook a cell (counted from 1) and a line of its outputs."""

    line: int
    cell: int | None = None

    def __str__(self) -> str:
        return f"line {self.line}" if self.cell is None else f"cell {self.cell}, output line {self.line}"


@dataclass(frozen=True, slots=True)
class CellOutput:
    """The outputs of one notebook cell: where they start in `Log.text`, and the number that Jupyter gave its run."""

    start: int
    cell: int
    execution: int | None = None


@dataclass(frozen=True)
class Log:
    """The text to diagnose and, for a notebook, which cell printed which part of it."""

    name: str
    text: str
    cells: tuple[CellOutput, ...] = ()

    @property
    def lines(self) -> int:
        """Return how many lines the text has."""
        return self.text.count("\n") + (not self.text.endswith("\n"))

    def place(self, offset: int) -> LogPlace:
        """Return the place of a character of `text`."""
        line = bisect.bisect_right(self._line_starts, offset)
        output = self.output_at(offset)
        if output is None:
            return LogPlace(line)
        return LogPlace(line - bisect.bisect_right(self._line_starts, output.start) + 1, output.cell)

    def output_at(self, offset: int) -> CellOutput | None:
        """Return the cell output that holds a character, or None when the log is no notebook."""
        index = bisect.bisect_right(self.cells, offset, key=lambda output: output.start) - 1
        return self.cells[index] if index >= 0 else None

    def cell_of(self, execution: int | None) -> int | None:
        """Return the cell that ran as `In [execution]`, or None when the notebook or the log does not say."""
        return next((output.cell for output in self.cells if output.execution == execution is not None), None)

    @functools.cached_property
    def _line_starts(self) -> list[int]:
        return list(accumulate((len(line) + 1 for line in self.text.split("\n")), initial=0))


def read_log(path: Path) -> Log:
    """Return the log in a file, or a notebook's stored outputs. Raises ReadError when there is no text in it."""
    if os.path.isfile(path) and os.path.getsize(path) > _MAX_BYTES:
        raise ReadError(f"{path}: larger than 1 GiB; cut the part around the error out of it (tail -n 100000)")
    return log_of_bytes(read_file(path, _MAX_BYTES), str(path))


def log_of_bytes(data: bytes, name: str) -> Log:
    """Return the log in `data`. Raises ReadError when it is empty, binary or a notebook that is broken."""
    text = _decode(data, name)
    if not text.strip():
        raise ReadError(f"{name}: empty: there is nothing to diagnose")
    if name.endswith(".ipynb"):
        return _notebook_log(text, name)
    return Log(name, text)


def _decode(data: bytes, name: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    if b"\x00" in data[:65536]:
        raise ReadError(f"{name}: a binary file; give the text that was printed")
    return data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")


def _notebook_log(text: str, name: str) -> Log:
    try:
        notebook = parse_json(text)
    except ValueError as error:
        raise ReadError(f"{name}: not a notebook (its JSON is broken: {error})") from None
    parts: list[str] = []
    cells: list[CellOutput] = []
    offset = 0
    for number, cell in enumerate(_cells(notebook, name), start=1):
        printed = _printed(cell)
        if printed:
            execution = cell.get("execution_count", cell.get("prompt_number"))
            cells.append(CellOutput(offset, number, execution if isinstance(execution, int) else None))
            parts.append(printed)
            offset += len(printed)
    if not parts:
        raise ReadError(f"{name}: no cell holds printed output or an error; run and save it, or give the traceback")
    return Log(name, "".join(parts), tuple(cells))


def _cells(notebook: Any, name: str) -> list[Mapping[str, Any]]:
    """Return the cells of a notebook in format 4, or of the first worksheet of one in format 3."""
    if isinstance(notebook, dict):
        cells = notebook.get("cells")
        worksheets = notebook.get("worksheets")
        if cells is None and isinstance(worksheets, list) and worksheets and isinstance(worksheets[0], dict):
            cells = worksheets[0].get("cells")
        if isinstance(cells, list):
            return [cell if isinstance(cell, dict) else {} for cell in cells]
    raise ReadError(f"{name}: not a notebook: it has no list of cells")


def _printed(cell: Mapping[str, Any]) -> str:
    """Return what the cell printed and the errors it ended with, each output on lines of its own."""
    outputs = cell.get("outputs")
    if not isinstance(outputs, list):
        return ""
    texts = [_output_text(output) for output in outputs if isinstance(output, dict)]
    return "".join(text if text.endswith("\n") else text + "\n" for text in texts if text)


def _output_text(output: Mapping[str, Any]) -> str:
    kind = output.get("output_type")
    if kind == "stream":
        return _joined(output.get("text"))
    if kind not in {"error", "pyerr"}:
        return ""
    traceback = _joined(output.get("traceback"), "\n")
    value = str(output.get("evalue") or "")
    summary = f"{output.get('ename') or 'Error'}: {value}"
    return traceback if traceback and value[:60] in traceback else f"{traceback}\n{summary}".lstrip("\n")


def _joined(value: Any, separator: str = "") -> str:
    """Return a multi-line string of the notebook format: a string, or a list of them."""
    if isinstance(value, str):
        return value
    return separator.join(map(str, value)) if isinstance(value, Sequence) else ""
