"""What the interpreter knows of a program is what CPython gives when it runs it."""

from __future__ import annotations

import pytest

from tests.program.against_cpython import compare
from tests.program.stateful_programs import program


@pytest.mark.parametrize("part", range(20))
def test_what_is_known_of_programs_with_state_is_what_cpython_gives(part: int) -> None:
    """100 of 2,000 programs drawn with a fixed seed; `stateful_programs.py` says the smallest program of a failure."""
    false = {number: found for number in range(part * 100, part * 100 + 100) if (found := compare(program(number), number).false)}

    assert not false
