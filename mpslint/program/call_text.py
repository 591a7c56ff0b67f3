"""Add an argument to the text of a call, or take one away; everything else stays byte for byte.

Arguments are added the way the call already writes them: on a line of their own or not, with a trailing comma or not, comments kept.
"""

from __future__ import annotations

import ast
import itertools
import re

from mpslint.core.record import record

_LINE_END = re.compile(rb"\r\n|\r|\n")
_NEW_LINE = re.compile(rb"(?<!\\)(?:\r\n|\r)|(?<![\\\r])\n")
"""The same where no backslash takes it back."""
_BLANKS = rb"(?:\s|\\\r?\n|#[^\r\n]*(?=[\r\n]))*"
_OPENING = re.compile(_BLANKS + rb"(?:\)" + _BLANKS + rb")*\(" + rb"(" + _BLANKS + rb")")
"""From behind what is called to its first argument, brackets around either included."""
_BEHIND = re.compile(rb"((?:" + _BLANKS + rb"\))*)(" + _BLANKS + rb")(?:(,)(" + _BLANKS + rb"))?")
"""From behind an argument to the next one: brackets around it, blanks, a comma, blanks."""
_EQUAL = re.compile(rb"\w+(\s*=\s*)")
"""A keyword, and how it is set apart from its value."""


@record(frozen=True)
class _Argument:
    """An argument of a call, brackets around it included, and what is behind it up to the next one or the end, as bytes."""

    text: bytes
    keyword: str | None
    comma: bytes
    """The comma, and the blanks before it; nothing behind the last argument of most calls."""
    after: bytes
    """The blanks behind that."""
    equal: bytes
    """How a keyword is set apart from its value; nothing for another argument."""


@record(frozen=True)
class _WrittenCall:
    """A call that was read."""

    opening: bytes
    """Up to the bracket that opens its arguments."""
    before: bytes
    """The blanks before the first argument."""
    parts: tuple[_Argument, ...]


def with_argument(call: str, name: str, value: str, after: str = "") -> str | None:
    """Return the text of a call with `name=value` added; None when the text is no call, or one that can't be given more.

    It goes to the end, or, in a call with a line for each argument, behind the keyword argument `after`.
    """
    read = _read(call)
    if read is None:
        return None
    equal = next((part.equal for part in reversed(read.parts) if part.equal), b"=")
    new = b"".join([name.encode(), equal, value.encode("utf-8", "surrogatepass")])
    before, parts = read.before, read.parts
    if not parts:
        return _written(read, before + new + _without_comment(before) if _has_comment(before) else new)
    separator = _separator(read)
    place = next((number for number, part in enumerate(parts[:-1], 1) if part.keyword == after), None)
    if place is not None and _is_line(separator) and len(_NEW_LINE.findall(parts[place - 1].after)) == 1:
        return _written(read, before, *parts[:place], new, b",", separator, *parts[place:])
    *front, last = parts
    kept, closing = _split_comment(last.after, separator)
    return _written(read, before, *front, last.text, last.comma or b",", kept, new, b"," if last.comma else b"", closing)


def without_argument(call: str, index: int) -> str | None:
    """Return the text of a call without its argument number `index` (from 0); None when there is no such argument.

    A comment behind the argument goes with it; every other one stays.
    """
    read = _read(call)
    if read is None or not 0 <= index < len(read.parts):
        return None
    removed, following = read.parts[index], read.parts[index + 1 :]
    if index == 0:
        left = _left_between(read.before, removed.after, is_first=True, is_last=not following)
        return _written(read, left if following or _has_comment(left) else b"", *following)
    *front, previous = read.parts[:index]
    left = _left_between(previous.after, removed.after, is_first=False, is_last=not following)
    return _written(read, read.before, *front, previous.text, b"," if following or removed.comma else b"", left, *following)


def _read(call: str) -> _WrittenCall | None:
    """Return a call as it is written; None for another text, and for `f(x for x in y)`, whose brackets are also its argument's."""
    text = call.encode("utf-8", "surrogatepass")
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    starts = [0, *(end.end() for end in _LINE_END.finditer(text))]
    if not isinstance(node, ast.Call) or starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0) != len(text):
        return None
    given: list[ast.expr | ast.keyword] = sorted([*node.args, *node.keywords], key=lambda part: (part.lineno, part.col_offset))
    places = [(starts[one.lineno - 1] + one.col_offset, starts[(one.end_lineno or 0) - 1] + (one.end_col_offset or 0)) for one in given]
    opening = _OPENING.match(text, starts[(node.func.end_lineno or 0) - 1] + (node.func.end_col_offset or 0))
    if opening is None or (places and places[0][0] < opening.start(1)):
        return None
    parts, start = [], opening.end()
    for one, (inner, end) in zip(given, places, strict=True):
        behind = _BEHIND.match(text, end, len(text) - 1)
        equal = _EQUAL.match(text, inner) if isinstance(one, ast.keyword) and one.arg else None
        if behind is None:
            return None
        brackets, blanks, comma, after = (part or b"" for part in behind.groups())
        said = (blanks + comma, after) if comma else (b"", blanks)
        keyword = one.arg if isinstance(one, ast.keyword) else None
        parts.append(_Argument(text[start:end] + brackets, keyword, *said, equal[1] if equal else b""))
        start = behind.end()
    return _WrittenCall(text[: opening.start(1)], opening[1], tuple(parts)) if start == len(text) - 1 else None


def _written(read: _WrittenCall, *pieces: bytes | _Argument) -> str:
    inner = (piece.text + piece.comma + piece.after if isinstance(piece, _Argument) else piece for piece in pieces)
    return b"".join([read.opening, *inner, b")"]).decode("utf-8", "surrogatepass")


def _is_line(blanks: bytes) -> bool:
    """Return whether some blanks go on to another line, which a backslash doesn't."""
    return _NEW_LINE.search(blanks) is not None


def _has_comment(blanks: bytes) -> bool:
    return b"#" in blanks


def _lines(blanks: bytes) -> list[bytes]:
    """Return blanks as lines with their ends; the last one is what stands before whatever follows."""
    ends = [0, *(end.end() for end in _NEW_LINE.finditer(blanks)), len(blanks)]
    return [blanks[start:end] for start, end in itertools.pairwise(ends)]


def _left_between(before: bytes, after: bytes, is_first: bool, is_last: bool) -> bytes:
    """Return what is left where an argument stood, of the blanks before it and after it: an empty line only between lines."""
    if not _is_line(before):
        return after if is_last or _has_comment(after) else before
    if not _is_line(after):
        return after if is_last and not _has_comment(before) else before
    first, *above, _ = _lines(before)
    _, *below, last = _lines(after)
    lines, kept = [*above, *below], [first]
    for number, line in enumerate(lines):
        is_open = not _has_comment(lines[number - 1]) if number else is_first
        kept += [line] if _has_comment(line) or not (is_last or is_open) else []
    return b"".join([*kept, last])


def _separator(read: _WrittenCall) -> bytes:
    """Return the blanks that stand between arguments: as between the last two, else as before the first."""
    if len(read.parts) > 1:
        return _without_comment(read.parts[-2].after)
    return _without_comment(read.before) if _is_line(read.before) else b" "


def _without_comment(blanks: bytes) -> bytes:
    """Return blanks that go on to another line as nothing but that; others as they are."""
    end = _NEW_LINE.search(blanks)
    return end[0] + _lines(blanks)[-1] if end is not None else blanks


def _split_comment(closing: bytes, separator: bytes) -> tuple[bytes, bytes]:
    """Return what stands after the old last argument, and what after the new one: a comment stays with the old."""
    if not _has_comment(closing):
        return separator, closing
    *lines, last = _lines(closing)
    indent = _lines(separator)[-1] if _is_line(separator) else last
    return b"".join([*lines, indent]), _without_comment(closing)
