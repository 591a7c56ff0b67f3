"""What a check does grows in proportion to its input: the calls that it makes are counted at n and 4n (`benchmarks/growth.py` has more)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from mpslint.cli import group

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from growth import CASES

SIZES = {
    "cuda in one function": 60, "cuda lines": 60, "arguments of their own": 60, "calls on calls": 60,
    "chosen devices": 60, "elif, findings": 40, "trainers": 40, "loaders": 60, "try": 60, "imports": 60,
    "unused comments": 100, "comments in a block": 100, "ignore-file comments": 60, "YAML, many lines of text": 300, "shell, functions": 50, "notebook, magics": 40,
    "Makefile, conditions": 60, "Makefile, tripled variables": 240, "Makefile, nested conditions": 100,
}  # fmt: skip
"""The cases that once took quadratic time, and how large n is here."""


def _calls(folder: Path, name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how many functions a check of a case calls, those written in C included."""
    case = next(case for case in CASES if case.name == name)
    folder.mkdir()
    text = case.write(size)
    assert isinstance(text, str)
    (folder / case.file).write_text(text)
    monkeypatch.chdir(folder)
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    line = ["check", "--isolated", "--no-cache", "--jobs", "1", case.file]
    CliRunner().invoke(group, line)  # what is loaded once is there by the second time
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        result = CliRunner().invoke(group, line)
    finally:
        sys.setprofile(before)
    assert result.exit_code in (0, 1), result.output
    return count


@pytest.mark.parametrize("name", SIZES)
def test_four_times_the_input_is_about_four_times_the_work(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within 1.3; quadratic work would be four times as much."""
    small, large = (_calls(tmp_path / str(factor), name, factor * SIZES[name], monkeypatch) for factor in (1, 4))
    assert large < 1.3 * 4 * small
