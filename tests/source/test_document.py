"""Python without comments and longer texts keeps everything else, and its place."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpslint.source.document import _TOKEN, bare
from mpslint.source.reader import read


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("x = 1  # cuda\n", "x = 1        \n"),
        ("x = '# cuda'\n", "x = '# cuda'\n"),
        ('def f():\n    """To\n    cuda."""\n', "def f():\n         \n            \n"),
        ('x = """cuda"""\n', 'x = """cuda"""\n'),
        ("x = f'''{a}\n{torch.cuda}'''\n", "x = f'''{a}\n{torch.cuda}'''\n"),
        ("x = rF'''{a}\n{b}'''\n", "x = rF'''{a}\n{b}'''\n"),
        ("x = r'''a\\\nb'''\n", "x = r     \n    \n"),
        ('x = "it\'s" # no\n', 'x = "it\'s"     \n'),
        ("x = 'a\\'#b'\n", "x = 'a\\'#b'\n"),
        ('"""a "quoted" """; y = 1\n', '"""a "quoted" """; y = 1\n'),
        ("it's not Python # at all\n", "it's not Python         \n"),
    ],
)
def test_comments_and_longer_texts_are_blank(text: str, left: str) -> None:
    """Short texts stay, as names of devices and arguments are written in them."""
    assert bare(text) == left


PIECES = st.lists(st.sampled_from(["'", '"', '"""', "'''", "#", "\n", "\\", "f", "r", "x", " ", "=", "{", "}"]), max_size=30).map("".join)


@given(PIECES)
def test_lengths_and_lines_stay(text: str) -> None:
    """Whatever the text is: places in it are places in the original."""
    assert len(bare(text)) == len(text)
    assert [index for index, char in enumerate(text) if char == "\n"] == [index for index, char in enumerate(bare(text)) if char == "\n"]


def blanked(text: str) -> str:
    """Return the same, token by token."""

    def kept(match: re.Match[str]) -> str:
        before = text[max(0, match.start() - 2) : match.start()].lower()
        is_left = match.group()[0] != "#" and ("\n" not in match.group() or before.endswith(("f", "fr")))
        return match.group() if is_left else re.sub(r"[^\n]", " ", match.group())

    return _TOKEN.sub(kept, text)


@given(PIECES)
def test_looking_only_where_something_goes_gives_the_same(text: str) -> None:
    """As looking at every string in turn."""
    assert bare(text) == blanked(text)


def test_names_of_real_modules_all_stay() -> None:
    """On Python's own library: every name of the program stands where it stood."""
    for module in (ast, io, tokenize, st):
        with open(str(module.__file__), encoding="utf-8") as file:
            text = file.read()
        lines = bare(text).splitlines()
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME:
                row, column = token.start
                assert lines[row - 1][column : token.end[1]] == token.string


def test_a_cell_that_is_not_python_swallows_no_other() -> None:
    """Each cell of a notebook is read for itself."""
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": one} for one in ("x = '''", "a.cuda()")
    ]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})

    assert "a.cuda()" in read("x.ipynb", text.encode()).code
