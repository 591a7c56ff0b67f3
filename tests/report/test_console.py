"""Rows of a table fit the console."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.text import Text

from mpslint.report.console import print_rows

PATH = "/Users/someone/projects/summaries/experiments/2026-11-22/run-04/train.py"


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_path_as_a_name_leaves_room_for_the_texts(width: int) -> None:
    """It stands alone where it is wider than half of the console; the other rows stay aligned."""
    stream = io.StringIO()
    rows = [(Text("  mac"), "M1"), (Text(f"  {PATH}"), "0.4 s a step, +/- 13%, 96 steps on 2026-11-22")]
    print_rows(rows, Console(file=stream, width=width))
    first, path, *texts = stream.getvalue().splitlines()

    assert first == "  mac  M1"
    assert path == f"  {PATH}"
    assert all(line.startswith("       ") and len(line) <= max(width, 37) for line in texts)
    assert " ".join(" ".join(texts).split()) == rows[1][1]
