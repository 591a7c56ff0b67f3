"""What a text says that stands for a value: on a command line, in a configuration file."""

from __future__ import annotations

import ast
from typing import Any

from mpslint.facts.values import Known


def as_written(text: str, node: ast.AST | None, is_weak: bool = False) -> Known:
    """Return what a text says: a number, true or false, nothing, else the text."""
    if text.lower() in ("true", "false"):
        return Known(text.lower() == "true", node, is_weak)
    number = as_kind(text, int)
    number = as_kind(text, float) if number is None else number
    return Known(number if number is not None else None if text in ("None", "null") else text, node, is_weak)


def as_kind(text: str, kind: type) -> Any:
    """Return a text as a kind of number, None where it says none."""
    try:
        return kind(text)
    except ValueError:
        return None
