"""Add an argument to a call that is written plainly: on one line, or with a line for each argument and no comments.

Most calls are, and loading LibCST for them would take longer than everything else that a check of one file does.
"""

from __future__ import annotations

import ast
import itertools
import re

_PLAIN_KEYWORD = re.compile(r"\*|\w+=\S")
"""A keyword argument without blanks around `=`."""


def with_plain_argument(call: str, name: str, value: str, after: str = "") -> str | None:
    """Return what `lossless.with_argument` does, for the text of a plainly written call; None for any other text."""
    if not call.isascii() or any(mark in call for mark in "#\\\r\t\f") or "\n" in value:
        return None
    try:
        node = ast.parse(call, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(node, ast.Call):
        return None
    arguments: list[ast.expr | ast.keyword] = sorted([*node.args, *node.keywords], key=lambda part: (part.lineno, part.col_offset))
    if not arguments or any(not _PLAIN_KEYWORD.match(_text(call, part)) for part in arguments if isinstance(part, ast.keyword)):
        return None
    if "\n" not in call:
        return _on_one_line(call, arguments, f"{name}={value}")
    return _on_its_own_line(call, node, arguments, f"{name}={value}", after)


def _text(call: str, part: ast.expr | ast.keyword) -> str:
    return call.split("\n")[part.lineno - 1][part.col_offset :]


def _on_one_line(call: str, arguments: list[ast.expr | ast.keyword], new: str) -> str | None:
    ends = [part.end_col_offset or 0 for part in arguments]
    gaps = [call[end : part.col_offset] for end, part in zip(ends, arguments[1:], strict=False)]
    if call[ends[-1] :] != ")" or any(gap != ", " for gap in gaps) or call[arguments[0].col_offset - 1] != "(":
        return None
    return f"{call[:-1]}, {new})"


def _on_its_own_line(call: str, node: ast.Call, arguments: list[ast.expr | ast.keyword], new: str, after: str) -> str | None:
    lines = call.split("\n")
    first, last = arguments[0], arguments[-1]
    begin, end = node.func.end_lineno or 0, last.end_lineno or 0
    indent = " " * first.col_offset
    follows_itself = all((a.end_lineno or 0) + 1 == b.lineno for a, b in itertools.pairwise(arguments))
    if first.lineno != begin + 1 or not follows_itself or len(lines) != end + 1 or lines[-1].strip() != ")":
        return None
    if lines[begin - 1][node.func.end_col_offset :] != "(":
        return None
    for part in arguments:
        opens, closes = lines[part.lineno - 1][: part.col_offset], lines[(part.end_lineno or 0) - 1][part.end_col_offset :]
        if opens != indent or closes != ",":
            return None
    place = next((part.end_lineno for part in arguments[:-1] if isinstance(part, ast.keyword) and part.arg == after and after), None) or end
    return "\n".join([*lines[:place], f"{indent}{new},", *lines[place:]])
