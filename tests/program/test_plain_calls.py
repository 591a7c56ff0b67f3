"""The quick way to add an argument or take one away writes what LibCST writes, or nothing."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys

import pytest

from mpslint.program.lossless import with_argument, without_argument
from mpslint.program.plain_calls import with_plain_argument, without_plain_argument
from tests import ROOT, some_of

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
NOT_PLAIN = [
    "f()", "f(a,)", "f(a,b)", "f(a )", "f( a)", "f(x for x in y)", "f((a))", "f(a, (b))", "f(a)[0]", "f", "f(\n    a, b,\n)", "f(\n\ta,\n)",
    "f(\r\n    a,\r\n)", "f(a,\n  b)", "f(\n    (a),\n)", "f(\n    a,\n  b,\n)", "f (\n    a,\n)", "f(\n    a,\n    )\\\n", "f(\n    a, \n)",
    "f(\n    a\n    ,\n)", "f(\n    x for x in y\n)", "f(\n    b=\n    1,\n)",
]  # fmt: skip
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
}
WITHOUT_BY_LIBCST = {
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


@pytest.mark.parametrize(("before", "after"), PLAIN.items())
def test_plain_calls_are_written(before: str, after: str) -> None:
    """On one line or with a line each, at the end or behind the argument that is named, comments kept."""
    assert with_plain_argument(before, "new", "4", "b") == with_argument(before, "new", "4", "b") == after


@pytest.mark.parametrize("call", NOT_PLAIN)
def test_anything_else_is_left_to_libcst(call: str) -> None:
    """Unusual blanks, brackets, tabs, several arguments on a line."""
    assert with_plain_argument(call, "new", "4") is None


def test_a_comment_in_an_empty_call_stays() -> None:
    """The new argument goes below it."""
    assert with_argument("f(  # nothing yet\n)", "new", "4") == "f(  # nothing yet\nnew=4\n)"


@pytest.mark.parametrize(("before", "index", "after"), [(before, *expected) for before, expected in WITHOUT.items()])
def test_arguments_are_taken_from_plain_calls(before: str, index: int, after: str) -> None:
    """With the comment behind them, and no other."""
    assert without_plain_argument(before, index) == without_argument(before, index) == after


@pytest.mark.parametrize(("before", "index", "after"), [(before, *expected) for before, expected in WITHOUT_BY_LIBCST.items()])
def test_arguments_are_taken_from_other_calls(before: str, index: int, after: str) -> None:
    """No comment about something else is lost, and no blank line too many is left."""
    assert without_plain_argument(before, index) is None
    assert without_argument(before, index) == after
    assert ast.dump(ast.parse(after))


@functools.cache
def calls() -> dict[str, list[str]]:
    """Return the short calls of this project's own files, with the names of their arguments."""
    found = {}
    for path in sorted([*ROOT.glob("mpslint/**/*.py"), *ROOT.glob("samples/*.py")]):
        lines = path.read_bytes().splitlines(keepends=True)
        for node in ast.walk(ast.parse(b"".join(lines))):
            if isinstance(node, ast.Call):
                own = lines[node.lineno - 1 : node.end_lineno]
                own[-1] = own[-1][: node.end_col_offset]
                own[0] = own[0][node.col_offset :]
                found[b"".join(own).decode()] = [keyword.arg for keyword in node.keywords if keyword.arg]
    return {text: names for text, names in found.items() if len(text) < 400}


def test_both_ways_agree_on_real_calls() -> None:
    """Wherever the quick one answers, which is often; LibCST is asked about each text once."""
    texts = calls()
    answers = {call: with_plain_argument(call, "zz_new", "4", names[0] if names else "") for call, names in texts.items()}
    plain = {call: answer for call, answer in answers.items() if answer is not None}

    assert len(plain) > len(texts) / 4
    sample = some_of(list(plain), 70)
    assert len(sample) > 50
    assert [plain[call] for call in sample] == [with_argument(call, "zz_new", "4", (texts[call] or [""])[0]) for call in sample]


def test_both_ways_agree_on_what_is_left_of_real_calls() -> None:
    """Whichever argument is taken away."""
    wanted = [(call, index) for call in calls() for index in range(3)]
    plain = {key: answer for key in wanted if (answer := without_plain_argument(*key)) is not None}

    assert len(plain) > len(wanted) / 5
    sample = some_of(list(plain), 110)
    assert len(sample) > 50
    assert [plain[key] for key in sample] == [without_argument(*key) for key in sample]


def test_the_lesson_is_checked_without_libcst() -> None:
    """Its calls are plain, and loading LibCST would double the time."""
    script = "import sys\nfrom mpslint.session.session import *\nfrom mpslint.source.files import FoundFile\n"
    script += "r = check_file(FoundFile('samples/summarization.ipynb'), Options())\nprint(len(r.findings) > 4, 'libcst' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout == "True False\n"
