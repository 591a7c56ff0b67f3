"""A magic that is written as a call of IPython says what the magic says, at its own characters."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpslint.source.document import SnippetKind
from mpslint.source.magics import mask_cell

CALLS = [
    ('get_ipython().run_line_magic("pip", "install torch==2.3")', SnippetKind.INSTALL, ["pip", "install", "torch==2.3"]),
    ("if x:\n    get_ipython().system('pip install torch')", SnippetKind.SHELL, ["pip", "install", "torch"]),
    ('x = get_ipython().getoutput("pip install \\"torch<2\\"")', SnippetKind.SHELL, ["pip", "install", '"torch<2"']),
    ('get_ipython().run_line_magic("env", "A=1")', SnippetKind.ENV, ["A=1"]),
    ("get_ipython().run_cell_magic('bash', '', 'export A=1\\ncd x\\n')", SnippetKind.SHELL, ["export", "A=1", "cd", "x"]),
]


@pytest.mark.parametrize(("cell", "kind", "words"), CALLS)
def test_a_called_magic_is_read_like_the_magic(cell: str, kind: SnippetKind, words: list[str]) -> None:
    """Its words, and Python of the same length in its place."""
    masked = mask_cell(cell)

    assert [(one.kind, one.text.split()) for one in masked.snippets] == [(kind, words)]
    assert len(masked.python) == len(cell)
    assert "get_ipython" not in masked.python


def test_python_below_a_called_cell_magic_is_read() -> None:
    """As jupyterlab-lsp writes `%%time`; with escaped line ends, offsets would not be true."""
    cell = 'get_ipython().run_cell_magic("time", "", """x = 1\nfor y in z:\n    print(y)""")'
    masked = mask_cell(cell).python

    assert len(masked) == len(cell)
    assert ast.unparse(ast.parse(masked)) == "_\nx = 1\nfor y in z:\n    print(y)"


@pytest.mark.parametrize(
    "cell", ["x = get_ipython().user_ns\n", 'get_ipython().run_line_magic(name, "x")\n', 's = "get_ipython().system()"\n']
)
def test_other_calls_of_ipython_are_python(cell: str) -> None:
    """They are left as they are."""
    assert mask_cell(cell).python == cell


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1, max_size=30), st.sampled_from(["", "    ", "é = "]))
def test_every_offset_stays_true(command: str, before: str) -> None:
    """Whatever the command holds."""
    cell = f"{before}get_ipython().system({command!r})\n"
    masked = mask_cell(cell)

    assert len(masked.python) == len(cell)
    assert all(len(one.text) == one.span.end - one.span.start for one in masked.snippets)
