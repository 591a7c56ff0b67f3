"""What the stubs say that a command line gives is what the real libraries give, on drawn parsers, classes, functions and words."""

from __future__ import annotations

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
}


@pytest.mark.parametrize("library", DRAWN)
def test_a_stub_says_what_its_library_gives(library: str) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"needs {library}")
    said = there = 0
    for seed in range(PROGRAMS):
        code = DRAWN[library](seed)
        wrong, more, every = differences(code)
        assert not wrong, f"{wrong}\n{code}"
        said, there = said + more, there + every
    assert there > PROGRAMS // 2
    assert said > 0.8 * there
