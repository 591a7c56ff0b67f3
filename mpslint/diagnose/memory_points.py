"""The points of a step-by-step memory log, from a CSV table or from lines of names and values, as `rules/platform/memory_log.yaml` says."""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mpslint.core.knowledge import platform_data
from mpslint.diagnose.compact import blank_escapes
from mpslint.diagnose.sizes import parse_size

_PAIR = re.compile(
    r"([A-Za-z][\w ./-]{0,40}?)['\"]?"
    r"(?:\s{0,3}[=:]\s{0,3}|\s{1,3})(?:(-?\d[\d.,]{0,24})\s{0,2}([KMGTkmgt]i?[Bb]|bytes)?|(?<=[=:])(\w{1,20}))"
)
_UNIT = re.compile(r"[\s_(\[]*(bytes|[kmg]i?b|b)[)\]]*$")
_LONGEST_LINE = 2_000
_HEADERS_TRIED, _LINES_TRIED = 50, 400


@dataclass(frozen=True, slots=True)
class Point:
    """One line of the log: its step, and the memory in bytes (or in the log's own unit when it names none)."""

    step: float
    live: float | None
    driver: float | None
    evaluating: bool
    offset: int


@dataclass(frozen=True, slots=True)
class Points:
    """The points of a log, in its order; `has_units` is False where the numbers have no unit and could be anything."""

    points: tuple[Point, ...] = ()
    has_units: bool = True


def read_points(text: str) -> Points:
    """Return the points of a text: of its table when it has one, else of its lines; fewer than two are none."""
    table = _table_points(text)
    if len(table.points) >= 2:
        return table
    for word in reading()["words"]:
        found = _line_points(text, word)
        if len(found.points) >= 2:
            return found
    return Points()


def _table_points(text: str) -> Points:
    """Return the points of the first table whose header names live or driver memory."""
    for word in reading()["words"]:
        for start, header in islice(_lines_with(text, word), _HEADERS_TRIED):
            separator = max(",;\t", key=header.count)
            cells = header.split(separator)
            names = [_column(cell) for cell in cells]
            if len(names) < 2 or not {"live", "driver"} & {kind for kind, _ in names}:
                continue
            rows = _rows(text, start + len(header) + 1, separator, len(names), reading()["most_points"])
            found = [_row_point(row, names, number, offset) for number, (row, offset) in enumerate(rows)]
            points = tuple(point for point in found if point is not None)
            if len(points) >= 2:
                named = any(scale for kind, scale in names if kind in {"live", "driver"})
                return Points(points, named or _only_bytes(points))
    return Points()


def _rows(text: str, start: int, separator: str, width: int, most: int) -> Iterator[tuple[list[str], int]]:
    """Yield the rows below a header, evenly thinned, until a line has another number of columns."""
    stride = max(1, text.count("\n", start) // most)
    for number, line in enumerate(text[start:].splitlines(keepends=True)):
        if number % stride == 0:
            row = next(csv.reader([line], delimiter=separator), [])
            if len(row) != width:
                return
            yield row, start
        start += len(line)


def _row_point(row: Sequence[str], names: Sequence[tuple[str, float]], number: int, offset: int) -> Point | None:
    cells = {kind: (cell.strip(), scale) for cell, (kind, scale) in zip(row, names, strict=True) if kind}
    values = {kind: _value(*cells[kind]) for kind in ("step", "live", "driver") if kind in cells}
    if values.get("live") is None and values.get("driver") is None:
        return None
    step = values.get("step")
    phase, _ = cells.get("phase", ("", 0.0))
    evaluating = _is_evaluation(phase)
    return Point(step if step is not None else number, values.get("live"), values.get("driver"), evaluating, offset)


def _line_points(text: str, word: str) -> Points:
    """Return the points in the lines that hold a word, evenly thinned."""
    stride = max(1, text.count(word) // reading()["most_points"])
    points: list[Point] = []
    has_units = True
    for number, (start, line) in enumerate(islice(_lines_with(text, word), 0, None, stride)):
        if number == _LINES_TRIED and not points:
            break
        point, named = _line_point(line, start)
        if point is not None:
            points.append(point)
            has_units = has_units and named
    return Points(tuple(points), has_units or (bool(points) and _only_bytes(points)))


def _line_point(line: str, start: int) -> tuple[Point | None, bool]:
    """Return the point that one line states, if it names a step and an amount, and whether the amounts have units."""
    found: dict[str, float] = {}
    phase, named = "", True
    for name, number, unit, word in _PAIR.findall(blank_escapes(line)):
        kind, scale = _column(name)
        value = _value(f"{number} {unit}".strip(), scale) if number else None
        if kind == "phase":
            phase = word
        elif kind and value is not None:
            found.setdefault(kind, value)
            named = named and (kind == "step" or bool(unit or scale))
    if "step" not in found or not {"live", "driver"} & set(found):
        return None, named
    point = Point(found["step"], found.get("live"), found.get("driver"), _is_evaluation(phase), start)
    return point, named


def _lines_with(text: str, word: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that hold a word, with their offsets; each once."""
    last = -1
    for match in re.finditer(re.escape(word), text):
        if match.start() > last:
            start, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.start())
            last = end if end >= 0 else len(text)
            if last - start < _LONGEST_LINE:
                yield start, text[start:last]


def _column(name: str) -> tuple[str, float]:
    """Return what a column or key is, and the bytes that its unit counts (0 without a unit)."""
    name = name.strip().strip('"').lower()
    unit = _UNIT.search(name)
    scale = float(reading()["units"][unit.group(1)]) if unit and unit.start() else 0.0
    words = re.split(r"\W+", name[: unit.start()] if unit and scale else name)
    for first in range(len(words)):
        kind = _kinds().get("_".join(filter(None, words[first:])))
        if kind:
            return kind, scale
    return "", 0.0


@functools.cache
def _kinds() -> dict[str, str]:
    """Return what is meant by the names of columns and keys."""
    return {name: kind for kind, names in reading()["columns"].items() for name in names}


def _value(cell: str, scale: float) -> float | None:
    """Return a number in bytes when the cell or its column names a unit, else as it stands."""
    size = parse_size(cell)
    if size is not None and size.binary is not None:
        return float(size.bytes)
    try:
        return float(cell.replace(",", "").rstrip(".")) * (scale or 1)
    except ValueError:
        return None


def _is_evaluation(phase: str) -> bool:
    return any(word in phase.lower() for word in reading()["evaluation"])


def _only_bytes(points: Sequence[Point]) -> bool:
    """Return whether numbers without a unit can only be bytes."""
    return min(max(point.live or 0, point.driver or 0) for point in points) > 10_000_000


def reading() -> Mapping[str, Any]:
    """Return how a memory log is read."""
    table: Mapping[str, Any] = platform_data("memory_log")
    return table
