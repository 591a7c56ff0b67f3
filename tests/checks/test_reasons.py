"""What is asked by a Python check, and why."""

from __future__ import annotations

import ast
from pathlib import Path

import mpslint.checks

REASON = "\n\nA check because "


def texts() -> dict[str, str]:
    """Return what each module that holds a check says of itself, by its name."""
    paths = Path(mpslint.checks.__file__).parent.glob("*.py")
    parsed = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    holds = {name: any(isinstance(one, ast.FunctionDef) and one.name == "find" for one in tree.body) for name, tree in parsed.items()}
    return {name: ast.get_docstring(tree) or "" for name, tree in parsed.items() if holds[name]}


def test_each_check_says_why_it_is_one() -> None:
    """What a rule can ask with its own words is no check."""
    assert [name for name, text in texts().items() if REASON not in text] == []


def test_checks_are_few() -> None:
    """A new one takes the place of another."""
    assert len(texts()) <= 30
