"""What may start a run."""

from __future__ import annotations

import pytest

from mpslint.project.launch import may_start


@pytest.mark.parametrize(
    ("code", "is_asked"),
    [
        ('os.system ("python x.py")', True),
        ('from os import system as start\nstart("python x.py")', True),
        ('fs = filesystem("x.py")', False),
        ('system = os.name + "x.py"', False),
        ('os.system("ls")', False),
    ],
)
def test_a_program_is_parsed_only_where_it_calls_what_starts_others(code: str, is_asked: bool) -> None:
    """By that name or another, and not a function whose name ends like it; and a script has to be named."""
    assert may_start("import os\n" + code) is is_asked
