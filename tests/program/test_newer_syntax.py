"""Programs in the syntax of a newer Python are read as if the running one parsed them, with every place as written."""

from __future__ import annotations

import ast
from importlib.metadata import version

import libcst
import pytest
from packaging.version import Version

from mpslint.api import check
from mpslint.program.newer_syntax import LARGEST, in_older_syntax

NEWER = {
    "nested quotes (3.12)": 'd = {}\nprint(f"{d["a"]} on {"x".join(["a"])}")\n',
    "a backslash in a replacement field (3.12)": 'print(f"{"\\n".join([])}")\n',
    "a comment in a replacement field (3.12)": 'a = 1\nprint(f"{a  # c\n}", 3)\n',
    "quotes in a format specification (3.12)": 'd = {}\nprint(f"{1:{d["w"]}}")\n',
    "other than ASCII before it (3.12)": "print(f'é {'ü'}')\n",
    "except without parentheses (3.14)": "try:\n    pass\nexcept ValueError, TypeError:\n    pass\n",
    "except without a space (3.14)": "try:\n    pass\nexcept ValueError,TypeError:\n    pass\n",
    "an exception group without parentheses (3.14)": "try:\n    pass\nexcept* ValueError, TypeError:\n    pass\n",
    "an exception group (3.11)": "try:\n    pass\nexcept* ValueError:\n    pass\n",
    "a type alias (3.12)": "type Pair[T] = tuple[T, T]\n",
    "type parameters with a default (3.13)": "class A[T]:\n    pass\n\n\ndef f[T: int = bool](x: T) -> T:\n    return x\n",
    "type parameters over lines (3.12)": "def f[\n    T,  # c\n    U,\n](x):\n    pass\n",
    "a template string (3.14)": 'a = 1\nx = t"hi {a}", 2\n',
    "a lazy import (3.15)": "lazy import json  # c\n",
}
OLDEST_OF_ALL = Version("1.9")
"""The first LibCST that reads all of these; what an older one can't read stays unread."""
AFTER = "import torch\n\nx = torch.ones(3, dtype=torch.float64).to('mps')\n"


@pytest.fixture
def known(text: str) -> None:
    """Skip what an older LibCST can't read."""
    if Version(version("libcst")) < OLDEST_OF_ALL:
        try:
            libcst.parse_module(text)
        except libcst.ParserSyntaxError:
            pytest.skip("syntax that this LibCST doesn't know")


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("text", NEWER.values(), ids=NEWER)
def test_a_finding_below_newer_syntax_is_found_where_it_is(text: str) -> None:
    """The line and column are those of the file, and nothing is said to be unread."""
    report = check(text + AFTER)
    assert [(f.rule, f.line, f.column) for f in report.findings] == [("MPS116", text.count("\n") + 3, 5)]
    assert not report.unread


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("text", NEWER.values(), ids=NEWER)
def test_the_older_text_parses_and_has_the_same_bytes_and_lines(text: str) -> None:
    """Where this Python reads it already, nothing has to be written otherwise."""
    older = in_older_syntax(text) or text
    assert [len(line.encode()) for line in older.split("\n")] == [len(line.encode()) for line in text.split("\n")]
    ast.parse(older)


def test_what_follows_on_the_line_keeps_its_column() -> None:
    """The second argument stands where it stood, though the first one lost what it held."""
    older = in_older_syntax('f(f"é{"\\n".join(b)}", wanted)\n')
    if older is not None:  # Python 3.12 and newer have nothing to change
        call = ast.parse(older).body[0].value  # type: ignore[attr-defined]
        assert call.args[1].col_offset == len('f(f"é{"\\n".join(b)}", '.encode())


def test_what_no_python_parses_stays_unread() -> None:
    """Python 2 and broken text keep their message."""
    assert check("import torch\nprint 'x'\n").unread
    assert in_older_syntax("print 'x'\n") is None


@pytest.mark.parametrize(
    "text", ["(" * 5_000, "x = " + "[" * 300 + "]" * 300 + "\nexcept*", "x = (" + "-\n" * 30_000 + "1)\nexcept*", "-" * 50_000]
)
def test_what_would_overflow_the_parser_is_not_read(text: str) -> None:
    """LibCST's parser is native code: it would end the whole process."""
    assert in_older_syntax(text) is None


def test_a_text_that_would_take_gigabytes_is_not_read() -> None:
    """As short as the bound it is; the check then says where it does not parse."""
    newer = "type Pair = int\n"
    assert in_older_syntax(newer) is not None
    assert in_older_syntax(newer + "#" * 100 + ("\n" + "#" * 100) * (LARGEST // 100)) is None


@pytest.mark.parametrize("text", ["print 'an epoch'\n", "if x:\npass\n", "  x = 1\n"])
def test_what_no_newer_python_parses_is_not_read_again(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script for Python 2 is told as unread without LibCST, which takes long to load."""
    asked: list[str] = []
    monkeypatch.setattr("mpslint.program.newer_syntax.in_older_syntax", asked.append)

    assert check(text + AFTER).unread
    assert asked == []
