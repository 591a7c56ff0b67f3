"""Add an argument to a call that is written plainly, or take one away: on one line, or with a line for each argument.

Nearly all calls with settings are, and loading LibCST for them would take longer than everything else that a check of one file does.
What is written in any other way is left to LibCST (`program.lossless`), which writes the same for these.
"""

from __future__ import annotations

import ast
import itertools
import re

from mpslint.core.record import record

_EQUAL = re.compile(rb"\w+( *= *)(?=\S)")
"""A keyword, and how it is set apart from its value."""
_END_OF_LINE = re.compile(rb"(,?) *(?:#.*)?")
"""What comes after an argument that ends its line."""
_COMMENT_OR_BLANK = re.compile(rb" *(#.*)?")


@record(frozen=True)
class _Plain:
    """A call with its arguments in order, as bytes, by which `ast` counts."""

    lines: list[bytes]
    arguments: list[ast.expr | ast.keyword]
    opening: tuple[int, int]
    """The line (from 1) and column behind what is called."""

    def before(self, part: ast.expr | ast.keyword) -> bytes:
        """Return what stands before an argument on its line."""
        return self.lines[part.lineno - 1][: part.col_offset]

    def behind(self, part: ast.expr | ast.keyword) -> bytes:
        """Return what stands behind an argument on its line."""
        return self.lines[(part.end_lineno or 0) - 1][part.end_col_offset :]


def with_plain_argument(call: str, name: str, value: str, after: str = "") -> str | None:
    """Return what `lossless.with_argument` does, for the text of a plainly written call; None for any other text."""
    plain = _read(call)
    if plain is None or not plain.arguments or "\n" in value:
        return None
    keyword = next((part for part in reversed(plain.arguments) if isinstance(part, ast.keyword) and part.arg is not None), None)
    equal = _EQUAL.match(plain.lines[keyword.lineno - 1], keyword.col_offset) if keyword is not None else None
    if keyword is not None and equal is None:
        return None
    new = b"".join([name.encode(), equal.group(1) if equal is not None else b"=", value.encode("utf-8", "surrogatepass")])
    if len(plain.lines) == 1:
        return (plain.lines[0][:-1] + b", " + new + b")").decode() if _is_on_one_line(plain) else None
    indent = _indent(plain)
    return _added_line(plain, indent, new, after) if indent is not None else None


def without_plain_argument(call: str, index: int) -> str | None:
    """Return what `lossless.without_argument` does, for the text of a plainly written call; None for any other text."""
    plain = _read(call)
    if plain is None or not 0 <= index < len(plain.arguments):
        return None
    lines, part = plain.lines, plain.arguments[index]
    previous = plain.arguments[index - 1] if index else None
    following = plain.arguments[index + 1] if index + 1 < len(plain.arguments) else None
    if len(lines) == 1:
        if not _is_on_one_line(plain):
            return None
        start = part.col_offset if following is not None or previous is None else previous.end_col_offset
        end = following.col_offset if following is not None else -1
        return (lines[0][:start] + lines[0][end:]).decode()
    if _indent(plain) is None or len(plain.arguments) == 1 or not plain.behind(part).startswith(b","):
        return None
    above = lines[(previous.end_lineno or 0) if previous is not None else plain.opening[0] : part.lineno - 1]
    below = lines[part.end_lineno or 0 : (following.lineno if following is not None else len(lines)) - 1]
    if not all(map(bytes.strip, (*above, *below))):
        return None  # of blank lines one may have to go too
    return b"\n".join([*lines[: part.lineno - 1], *lines[part.end_lineno :]]).decode()


def _read(call: str) -> _Plain | None:
    if any(mark in call for mark in "\\\r\t\f"):
        return None
    try:
        node = ast.parse(call, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(node, ast.Call):
        return None
    arguments: list[ast.expr | ast.keyword] = sorted([*node.args, *node.keywords], key=lambda part: (part.lineno, part.col_offset))
    return _Plain(call.encode().split(b"\n"), arguments, (node.func.end_lineno or 0, node.func.end_col_offset or 0))


def _is_on_one_line(plain: _Plain) -> bool:
    """Return whether a call of one line ends with its last argument, and has one blank behind each comma."""
    (line,), parts = plain.lines, plain.arguments
    gaps = [line[a.end_col_offset : b.col_offset] for a, b in itertools.pairwise(parts)]
    return plain.behind(parts[-1]) == b")" and all(gap == b", " for gap in gaps) and line[plain.opening[1] : parts[0].col_offset] == b"("


def _indent(plain: _Plain) -> bytes | None:
    """Return what stands before each argument of a call in which each begins a line; else None. Only the last bracket may follow one."""
    lines, parts = plain.lines, plain.arguments
    line, column = plain.opening
    indents = {plain.before(part) for part in parts}
    if not parts or len(indents) > 1 or plain.before(parts[0]).strip():
        return None
    opening = lines[line - 1][column:]
    if opening[:1] != b"(" or _COMMENT_OR_BLANK.fullmatch(opening, 1) is None:
        return None
    position = line
    for number, part in enumerate(parts):
        behind, is_last = plain.behind(part), number == len(parts) - 1
        end = _END_OF_LINE.fullmatch(behind)
        if any(_COMMENT_OR_BLANK.fullmatch(between) is None for between in lines[position : part.lineno - 1]):
            return None
        if not (is_last and behind == b")") and (end is None or not (end.group(1) or is_last)):
            return None
        position = part.end_lineno or 0
    if position == len(lines):
        return indents.pop()
    is_closed = lines[-1].strip() == b")" and all(_COMMENT_OR_BLANK.fullmatch(between) is not None for between in lines[position:-1])
    return indents.pop() if is_closed else None


def _added_line(plain: _Plain, indent: bytes, new: bytes, after: str) -> str | None:
    lines, parts = list(plain.lines), plain.arguments
    for part, following in itertools.pairwise(parts):
        if after and isinstance(part, ast.keyword) and part.arg == after and part.end_lineno == following.lineno - 1:
            lines.insert(part.end_lineno, indent + new + b",")
            return b"\n".join(lines).decode()
    last = parts[-1]
    end = last.end_lineno or 0
    ending = plain.behind(last)
    if ending == b")":
        return b"\n".join([*lines[:-1], lines[-1][:-1] + b",", indent + new + b")"]).decode()
    has_comma = ending.startswith(b",")
    if ending.endswith(b" ") and b"#" not in ending:
        return None
    if not has_comma:
        lines[end - 1] = lines[end - 1][: last.end_col_offset] + b"," + ending
    place = len(lines) - 1 if b"#" in ending or any(line.strip() for line in lines[end:-1]) else end
    lines.insert(place, indent + new + (b"," if has_comma else b""))
    return b"\n".join(lines).decode()
