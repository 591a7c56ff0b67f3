"""What the stubs say that a command line gives is what the real libraries give, on drawn parsers, classes, functions and words."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Callable

import pytest

from tests.program.stubs import drawn
from tests.program.stubs.agreement import differences

PROGRAMS = 150
DRAWN: dict[str, Callable[[int], str]] = {
    "argparse": drawn.argparse_program,
    "transformers": drawn.hf_program,
    "tap": drawn.tap_program,
    "fire": drawn.fire_program,
    "tyro": drawn.tyro_program,
    "typer": drawn.typer_program,
    "click": drawn.click_program,
    "absl": drawn.absl_program,
    "pydantic": drawn.pydantic_program,
    "typer.main": drawn.group_program,
}


@pytest.mark.parametrize("library", DRAWN)
def test_a_stub_says_what_its_library_gives(library: str) -> None:
    if importlib.util.find_spec(library) is None or (library == "pydantic" and importlib.metadata.version(library).startswith("1.")):
        pytest.skip(f"needs {library}")
    said = there = 0
    for seed in range(PROGRAMS):
        code = DRAWN[library](seed)
        wrong, more, every = differences(code)
        assert not wrong, f"{wrong}\n{code}"
        said, there = said + more, there + every
    assert there > PROGRAMS // 2
    assert said > 0.8 * there


def test_a_stub_says_what_pydantic_1_gives() -> None:
    """The same names mean other things in pydantic 1."""
    if importlib.util.find_spec("pydantic") is None or not importlib.metadata.version("pydantic").startswith("1."):
        pytest.skip("needs pydantic 1")
    for seed in range(2 * PROGRAMS):
        code = drawn.pydantic1_program(seed)
        assert not differences(code)[0], code
