"""The quick way to add an argument writes what LibCST writes, or nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mpslint.program.lossless import with_argument
from mpslint.program.plain_calls import with_plain_argument

ROOT = Path(__file__).parents[1]

PLAIN = {
    'f("out", seed=1)': 'f("out", seed=1, new=4)',
    "f(a)": "f(a, new=4)",
    "f(*a, **b)": "f(*a, **b, new=4)",
    "a.f(b)(c)": "a.f(b)(c, new=4)",
    "f(\n    a,\n    b=1,\n)": "f(\n    a,\n    b=1,\n    new=4,\n)",
    "f(\n        a,\n        b=1,\n    )": "f(\n        a,\n        b=1,\n        new=4,\n    )",
    "f(\n    b=1,\n    c=2,\n)": "f(\n    b=1,\n    new=4,\n    c=2,\n)",
    "f(\n    b=[\n        1,\n    ],\n    c=2,\n)": "f(\n    b=[\n        1,\n    ],\n    new=4,\n    c=2,\n)",
}
NOT_PLAIN = [
    "f()", "f(a,)", "f(a,b)", "f(b = 1)", "f(a )", "f( a)", "f(x for x in y)", "f((a))", "f(a, (b))", 'f("é")', "f(a  # why\n)", "f(a)[0]", "f",
    "f(\n    a\n)", "f(\n    a, b,\n)", "f(\n    a,\n\n    b,\n)", "f(\n\ta,\n)", "f(\r\n    a,\r\n)", "f(a,\n  b)", "f(\n    (a),\n)", "f(\n    a,\n  b,\n)",
    "f (\n    a,\n)", "f(\n    a,\n    )\\\n",
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), PLAIN.items())
def test_plain_calls_are_written(before: str, after: str) -> None:
    """On one line or with a line each, at the end or behind the argument that is named."""
    assert with_plain_argument(before, "new", "4", "b") == with_argument(before, "new", "4", "b") == after


@pytest.mark.parametrize("call", NOT_PLAIN)
def test_anything_else_is_left_to_libcst(call: str) -> None:
    """Comments, blanks, brackets, tabs, other letters."""
    assert with_plain_argument(call, "new", "4") is None


def calls() -> Iterator[tuple[str, list[str]]]:
    """Yield every call of this project's own files, with the names of its arguments."""
    for path in sorted([*ROOT.glob("mpslint/**/*.py"), *ROOT.glob("samples/*.py")]):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call):
                yield ast.get_source_segment(text, node) or "", [keyword.arg for keyword in node.keywords if keyword.arg]


def test_both_ways_agree_on_real_calls() -> None:
    """Wherever the quick one answers, which is often; LibCST is asked about each text once."""
    texts = {call: names for call, names in calls() if len(call) < 400}
    answers = {call: with_plain_argument(call, "zz_new", "4", names[0] if names else "") for call, names in texts.items()}
    plain = {call: answer for call, answer in answers.items() if answer is not None}

    assert len(plain) > len(texts) / 4
    sample = list(plain)[::7]
    assert [plain[call] for call in sample] == [with_argument(call, "zz_new", "4", (texts[call] or [""])[0]) for call in sample]


def test_the_lesson_is_checked_without_libcst() -> None:
    """Its calls are plain, and loading LibCST would double the time."""
    script = "import sys\nfrom mpslint.session import *\nfrom mpslint.source.files import Found\n"
    script += "r = check_file(Found('samples/summarization.ipynb'), Options())\nprint(len(r.findings) > 4, 'libcst' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout == "True False\n"
