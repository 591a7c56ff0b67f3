"""What a Python text imports, by its text alone."""

from __future__ import annotations

import pytest

from mpslint.project.imports import imports_of


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        ("import a\nfrom b.c import d\n", ["a", "b.c"]),
        ("    import a as b, c\n", ["a", "c"]),
        ("if kind in ['x']: from a import Net as Net\nelif kind == 'y': from b import Net\nelse: import c\n", ["a", "b", "c"]),
        ("try: import a\nexcept ImportError: a = None\n", ["a"]),
        ("import a; from b import c; import d\n", ["a", "b", "d"]),
        ("from a import (\n    b,  # why\n    c,\n)\n", ["a"]),
        ("table = {'a': important, 'b': fromage}\nx = y[1:imports]\n", []),
        ("# import a\nreimport = 1\n", []),
    ],
)
def test_imports_stand_anywhere_in_a_line(text: str, modules: list[str]) -> None:
    """Models are often chosen by an import on the line of its condition."""
    assert [one.module for one in imports_of(text)] == modules
