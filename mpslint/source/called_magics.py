"""Magics as calls of IPython, `get_ipython().run_line_magic("pip", "install x")`, read like the magics that they were.

nbconvert writes them so, and jupyterlab-lsp sends a notebook so to a language server. A magic takes the characters of its call: what stands
between its words is blank, so every offset stays true.
"""

from __future__ import annotations

import ast
import re
from collections import Counter

from mpslint.core.record import record

SIGN = "get_ipython()"
_SHELL_CALLS = frozenset({"system", "getoutput"})
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}
_QUOTES = re.compile(r"[rRuU]?(\"\"\"|'''|\"|')")


@record(frozen=True, slots=True)
class CalledMagic:
    """A magic that a statement calls, as it would be written in a notebook."""

    start: int
    """Where the call begins in the statement."""
    end: int
    text: str
    """What stands in the call's place: `!` or `%` at its beginning, blanks, and the magic's words where the call has them."""
    body: tuple[int, int] | None = None
    """Where the text of a cell magic lies in the statement."""


def called_magic(statement: str) -> CalledMagic | None:
    """Return the magic that a statement is a call of, or assigns the result of; None for anything else."""
    if SIGN not in statement:
        return None
    bare = statement.strip()
    indent = statement.index(bare)
    try:
        (node,) = ast.parse(bare).body
    except (SyntaxError, ValueError, RecursionError):
        return None
    call = node.value if isinstance(node, (ast.Expr, ast.Assign)) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or ast.unparse(call.func.value) != SIGN or call.keywords:
        return None
    words = [(argument.value, *_inside(bare, argument)) for argument in call.args if isinstance(argument, ast.Constant)]
    if len(words) != len(call.args) or not all(isinstance(value, str) for value, _, _ in words):
        return None
    places = [(start + indent, end + indent) for _, start, end in words]
    start, end = _offset(bare, call.lineno, call.col_offset) + indent, _offset(bare, call.end_lineno, call.end_col_offset) + indent
    if call.func.attr in _SHELL_CALLS and len(words) == 1:
        return CalledMagic(start, end, _spread("!", statement, start, places, end))
    if call.func.attr == "run_line_magic" and len(words) == 2:
        return CalledMagic(start, end, _spread("%", statement, start, places, end))
    if call.func.attr == "run_cell_magic" and len(words) == 3:
        return CalledMagic(start, end, _spread("%%", statement, start, places[:2], places[2][0]), places[2])
    return None


def written(statement: str, place: tuple[int, int]) -> str:
    """Return what a literal says in as many characters as it is written in; the backslash of a quote is a blank outside the pair."""
    seen: Counter[str] = Counter()

    def said(found: re.Match[str]) -> str:
        character = _ESCAPED.get(found[1], found[0])
        seen[character] += 1
        return character.ljust(2) if seen[character] % 2 == 0 else character.rjust(2)

    return _ESCAPE.sub(said, statement[slice(*place)])


def _spread(sign: str, statement: str, start: int, places: list[tuple[int, int]], end: int) -> str:
    """Return a sign and the words of some places, with the first right behind the sign and blanks up to the next."""
    first = places[0][0] - len(sign)
    pieces, position = [" " * (first - start), sign], places[0][0]
    for place in places:
        pieces += [" " * (place[0] - position), written(statement, place)]
        position = place[1]
    return "".join([*pieces, " " * (end - position)])


def _inside(text: str, literal: ast.Constant) -> tuple[int, int]:
    """Return where the characters between the quotes of a literal lie."""
    start, end = _offset(text, literal.lineno, literal.col_offset), _offset(text, literal.end_lineno, literal.end_col_offset)
    opening = _QUOTES.match(text, start)
    return (opening.end(), end - len(opening[1])) if opening is not None else (start, start)


def _offset(text: str, line: int | None, column: int | None) -> int:
    """Return the offset of a place of a syntax tree, which counts columns in bytes."""
    lines = text.splitlines(keepends=True)[: line or 1]
    return sum(map(len, lines[:-1])) + len(lines[-1].encode()[: column or 0].decode())
