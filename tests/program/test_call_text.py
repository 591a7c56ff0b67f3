"""An argument is added to the text of a call, or taken away, and nothing else changes."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpslint.program.call_text import with_argument, without_argument
from tests import ROOT

PLAIN = {
    'f("out", seed=1)': 'f("out", seed=1, new=4)',
    "f(a)": "f(a, new=4)",
    'f("é")': 'f("é", new=4)',
    "f(b = 1)": "f(b = 1, new = 4)",
    "f(*a, **b)": "f(*a, **b, new=4)",
    "a.f(b)(c)": "a.f(b)(c, new=4)",
    "f(\n    a,\n    b=1,\n)": "f(\n    a,\n    b=1,\n    new=4,\n)",
    "f(\n        a,\n        b=1,\n    )": "f(\n        a,\n        b=1,\n        new=4,\n    )",
    "f(\n    b=1,\n    c=2,\n)": "f(\n    b=1,\n    new=4,\n    c=2,\n)",
    "f(\n    b=[\n        1,\n    ],\n    c=2,\n)": "f(\n    b=[\n        1,\n    ],\n    new=4,\n    c=2,\n)",
    "f(\n    a\n)": "f(\n    a,\n    new=4\n)",
    "f(\n    a,\n    c=1)": "f(\n    a,\n    c=1,\n    new=4)",
    "f(  # why\n    a,\n\n    # c\n    c=1,\n)": "f(  # why\n    a,\n\n    # c\n    c=1,\n    new=4,\n)",
    "f(\n    a,\n    c=1,  # ü\n)": "f(\n    a,\n    c=1,  # ü\n    new=4,\n)",
    "f(\n    a,\n    c=1  # c\n)": "f(\n    a,\n    c=1,  # c\n    new=4\n)",
    "f(\n    a,\n    # d=1,\n)": "f(\n    a,\n    # d=1,\n    new=4,\n)",
    "f(\n    b=1,  # b\n    c=2,\n)": "f(\n    b=1,  # b\n    new=4,\n    c=2,\n)",
    "f(\n    b=1,\n    # c\n    c=2,\n)": "f(\n    b=1,\n    # c\n    c=2,\n    new=4,\n)",
}
OTHERWISE = {
    "f()": "f(new=4)",
    "f( )": "f(new=4)",
    "f(a,)": "f(a, new=4,)",
    "f(a,b)": "f(a,b,new=4)",
    "f(a )": "f(a, new=4 )",
    "f((a))": "f((a), new=4)",
    "(f)((a), (lambda b, c: 0))": "(f)((a), (lambda b, c: 0), new=4)",
    "f(a)(\\\n b)": "f(a)(\\\n b, new=4)",
    "f(\n    a, b,\n)": "f(\n    a, b, new=4,\n)",
    "f(\n\ta,\n)": "f(\n\ta,\n\tnew=4,\n)",
    "f(\r\n    a,\r\n)": "f(\r\n    a,\r\n    new=4,\r\n)",
    "f(a,\n  b)": "f(a,\n  b,\n  new=4)",
    "f(\n    a\n    ,\n)": "f(\n    a\n    ,\n    new=4,\n)",
    "f(\n    b=\n    1,\n)": "f(\n    b=\n    1,\n    new=\n    4,\n)",
    "f(a  # ,)(\n)": "f(a,  # ,)(\nnew=4\n)",
    "f(  # nothing yet\n)": "f(  # nothing yet\nnew=4\n)",
    "é.f('é', 𝒜=1)": "é.f('é', 𝒜=1, new=4)",
}
NO_CALLS = ["f", "f(a)[0]", "(f(a))", "f(a", "f(x for x in y)", "f(\n    x for x in y\n)", "f(a) # )", "", "f(a); g(b)"]
WITHOUT = {
    "f(b)": (0, "f()"),
    "f(a, b=1)": (1, "f(a)"),
    "f(a, c=1)": (0, "f(c=1)"),
    "f(\n    a,\n    b=1,\n)": (1, "f(\n    a,\n)"),
    "f(\n    a,\n    # kept\n    b=1,  # gone\n    # kept too\n    c=1,\n)": (1, "f(\n    a,\n    # kept\n    # kept too\n    c=1,\n)"),
    "f(\n    a,  # kept\n    b=1,  # gone\n)": (1, "f(\n    a,  # kept\n)"),
    "f(\n    a,\n    b=1,\n    # c=1,\n)": (1, "f(\n    a,\n    # c=1,\n)"),
    "f(\n    b=1,\n    c=1)": (0, "f(\n    c=1)"),
    "f(\n    b=[\n        1,\n    ],\n    c=1,\n)": (0, "f(\n    c=1,\n)"),
    "f(\n    a,  # kept\n    b=1\n)": (1, "f(\n    a  # kept\n)"),
    "f(\n    # kept\n    b=1,\n)": (0, "f(\n    # kept\n)"),
    "f(\n    b=1,\n)": (0, "f()"),
    "f(a,  # kept\n  b=1)": (1, "f(a  # kept\n  )"),
    "f(a, b=1,  # kept\n  c=2)": (1, "f(a,  # kept\n  c=2)"),
    "f(a, b=1,\n  c=2)": (1, "f(a, c=2)"),
    "f(\n    a,\n\n    b=1,\n\n    c=2,\n)": (1, "f(\n    a,\n\n    c=2,\n)"),
    "f(\n    b=1,\n\n    c=2,\n)": (0, "f(\n    c=2,\n)"),
    "f(\n    a,\n    b=1,\n\n)": (1, "f(\n    a,\n)"),
    "f((a), (b))": (0, "f((b))"),
    "f(a,)": (0, "f()"),
}


@pytest.mark.parametrize(("before", "after"), [*PLAIN.items(), *OTHERWISE.items()])
def test_an_argument_is_added_as_the_call_is_written(before: str, after: str) -> None:
    """On one line or with a line each, at the end or behind the argument that is named, comments kept."""
    assert with_argument(before, "new", "4", "b") == after


@pytest.mark.parametrize("text", NO_CALLS)
def test_what_is_no_call_gets_no_argument(text: str) -> None:
    """Neither does a call whose only argument is a generator without brackets of its own."""
    assert with_argument(text, "new", "4") is None
    assert without_argument(text, 0) is None


@pytest.mark.parametrize(("before", "index", "after"), [(before, *expected) for before, expected in WITHOUT.items()])
def test_an_argument_is_taken_away(before: str, index: int, after: str) -> None:
    """With the comment behind it, and no other; no blank line too many is left."""
    assert without_argument(before, index) == after
    assert ast.dump(ast.parse(after))


@functools.cache
def calls() -> tuple[str, ...]:
    """Return the short calls of this project's own files."""
    found = []
    for path in sorted([*ROOT.glob("mpslint/**/*.py"), *ROOT.glob("samples/*.py")]):
        lines = path.read_bytes().splitlines(keepends=True)
        for node in ast.walk(ast.parse(b"".join(lines))):
            if isinstance(node, ast.Call):
                own = lines[node.lineno - 1 : node.end_lineno]
                own[-1] = own[-1][: node.end_col_offset]
                own[0] = own[0][node.col_offset :]
                found.append(b"".join(own).decode())
    return tuple(text for text in dict.fromkeys(found) if len(text) < 400)


def read(text: str) -> ast.Call | None:
    """Return a text as a call; None for one that is none by itself."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    return node if isinstance(node, ast.Call) else None


# What may stand beside a comma or a bracket.
BLANKS = st.sampled_from(["", "", " ", "\n    ", "  # c, (d)\n    ", "\n\n  ", "\n    # d\n\t", "\\\n", "\r\n "])


@st.composite
def written(draw: st.DrawFn) -> str:
    """Draw a real call with other blanks behind its brackets and commas."""
    text = draw(st.sampled_from(calls()))
    pieces = [letter + draw(BLANKS) if letter in "(,)" and place < len(text) - 1 else letter for place, letter in enumerate(text)]
    return "".join(pieces)


@given(call=written(), index=st.integers(0, 3))
def test_any_call_means_what_it_did_but_for_the_argument(call: str, index: int) -> None:
    """However it is written: what is added is there, what is taken away is gone, and every comment but one stays."""
    node = read(call)
    if node is None or any(isinstance(one, ast.GeneratorExp) for one in node.args):
        return
    added = with_argument(call, "zz_new", "4")
    assert added is not None
    more = read(added)
    assert more is not None
    assert (more.keywords[-1].arg, more.keywords.pop().value.value) == ("zz_new", 4)  # type: ignore[attr-defined]
    assert ast.dump(more) == ast.dump(node)
    assert added.count("#") == call.count("#")

    arguments = sorted([*node.args, *node.keywords], key=lambda one: (one.lineno, one.col_offset))
    less = without_argument(call, index)
    assert (less is None) == (index >= len(arguments))
    if less is not None:
        left = read(less)
        kept = [ast.dump(one) for one in arguments if one is not arguments[index]]
        assert left is not None
        assert [ast.dump(one) for one in sorted([*left.args, *left.keywords], key=lambda one: (one.lineno, one.col_offset))] == kept


def test_the_lesson_is_checked_without_libcst() -> None:
    """Loading it would double the time."""
    script = "import sys\nfrom mpslint.session.session import *\nfrom mpslint.source.files import FoundFile\n"
    script += "r = check_file(FoundFile('samples/summarization.ipynb'), Options())\nprint(len(r.findings) > 4, 'libcst' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout == "True False\n"
