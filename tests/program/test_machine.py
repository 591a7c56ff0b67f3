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


@pytest.mark.parametrize(
    "text",
    [
        "n = 1\ntry:\n    missing\n    n -= 1\nfinally:\n    probe(n)\n",
        "n = 1\ntry:\n    missing\n    n -= 1\nfinally:\n    n += 5\n    probe(n)\nprobe(n)\n",
        "n = 1\ntry:\n    try:\n        missing\n        n = 2\n    finally:\n        probe(n)\nexcept NameError:\n    probe(n)\nprobe(n)\n",
        "def f(n):\n    try:\n        if n:\n            return 1\n        n = 7\n    finally:\n        probe(n)\n    return 2\nprobe(f(unknown()))\n",
        "class C:\n    def __enter__(self):\n        return self\n    def __exit__(self, *error):\n        probe(n)\n        return True\n"
        "n = 1\nwith C():\n    missing\n    n = 2\nprobe(n)\n",
        "def f(n, xs=[]):\n    xs.append(n)\n    probe(list(xs))\n    return n.missing\ntry:\n    f(f(1))\nexcept Exception:\n    probe(0)\n",
    ],
)
def test_what_is_noted_holds_on_each_way_out_of_a_block(text: str) -> None:
    """What runs whichever way a block is left sees what the block had written until then."""
    found = compare(text)

    assert not found.false
    assert found.known + found.unknown


@pytest.mark.parametrize("end", ["pass", "missing"])
def test_what_follows_a_finally_knows_that_its_block_reached_its_end(end: str) -> None:
    """An exception that nothing catches ends the program, so what is written after it holds for all that follows."""
    found = compare(f"n = 1\ntry:\n    print(n)\n    n = 2\nfinally:\n    {end}\nprobe(n)\n")

    assert (found.false, found.unknown) == ([], 0)
