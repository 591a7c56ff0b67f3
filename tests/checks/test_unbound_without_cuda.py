"""Names that only a branch for CUDA gives a value."""

from __future__ import annotations

import pytest

from mpslint.engine import check
from mpslint.source.reader import read
from mpslint.target.target import default_target

BRANCH = 'if torch.cuda.is_available():\n    d = "cuda"\n'


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        (f"{BRANCH}print(d)\n", True),
        (f"{BRANCH}for i in range(3):\n    print(d)\n    d = i\n", True),
        (f"{BRANCH}for i in range(3):\n    d = i\nprint(d)\n", False),
        (f"def setup():\n    global d\n    d = 1\n\n\n{BRANCH}print(d)\n", False),
        (f"d = 1\n{BRANCH}del d\nprint(d)\n", False),
        (f"{BRANCH}g = vars()\ng['d'] = 2\nprint(d)\n", False),
        (f"{BRANCH}exec(open('x').read())\nprint(d)\n", False),
        (f"for k in range(2):\n    if k:\n        print(d)\n{BRANCH}", False),
        (f"{BRANCH}if (d := x):\n    print(d)\n", False),
        (f"{BRANCH}with open('x') as d:\n    pass\nprint(d)\n", False),
        (f"{BRANCH}def use():\n    print(d)\n\n\nd = 2\nuse()\n", False),
    ],
)
def test_a_name_is_found_where_the_walk_reads_it_without_a_value(text: str, is_found: bool) -> None:
    """Whatever else may give it a value, on any path, leaves it alone."""
    found = check(read("train.py", f"import torch\n\n{text}".encode()), default_target()).findings

    assert any(one.rule == "MPS567" for one in found) == is_found
