"""What `$((BATCH * 2))` comes to: whole numbers, as the shell computes them."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping

ARITHMETIC = re.compile(r"\$\(\(((?:[^()]|\([^()]*\))*)\)\)")
_NAME = re.compile(r"\$\{([A-Za-z_]\w*)\}|\$?\b([A-Za-z_]\w*)")
_PLAIN = re.compile(r"[\d\s+\-*/%()]+")
LARGEST = 1 << 63


def _divided(left: int, right: int) -> int:
    """Return a quotient rounded towards zero, as C does."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divided,
    ast.Mod: lambda left, right: left - right * _divided(left, right),
}


def computed(expression: str, value_of: Callable[[str], tuple[str | None, bool]]) -> tuple[int | None, bool]:
    """Return the number that an expression comes to, None where that is not known, and whether it rests on a default.

    `value_of` gives the text of a variable, and whether that is a default.
    """
    is_weak = False
    pieces: list[str] = []
    position = 0
    for match in _NAME.finditer(expression):
        text, weak = value_of(match[1] or match[2])
        if text is None or not re.fullmatch(r"-?[0-9]{1,18}", text):
            return None, False
        pieces += [expression[position : match.start()], f"({text})"]
        position, is_weak = match.end(), is_weak or weak
    plain = "".join([*pieces, expression[position:]])
    if _PLAIN.fullmatch(plain) is None or len(plain) > 500:
        return None, False
    try:
        return _number(ast.parse(plain.strip(), mode="eval").body), is_weak
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError):
        return None, False


def _number(node: ast.expr) -> int:
    """Return the number of a part of an expression. Raises ValueError for what the shell computes otherwise."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = _number(node.operand)
        return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        result = _OPERATORS[type(node.op)](_number(node.left), _number(node.right))
        if abs(result) < LARGEST:
            return result
    raise ValueError(ast.dump(node))
