"""Damaged files of every kind, a few hundred of those that `benchmarks/fuzz.py` makes by the ten thousand."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "fuzz.py"


@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_files_are_read_or_refused_in_a_line(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No exception of mpslint's own, no error of several lines, no fix that changes more the second time."""
    spec = importlib.util.spec_from_file_location("fuzz", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    fuzz = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "fuzz", fuzz)
    spec.loader.exec_module(fuzz)
    counts, failures = fuzz.run(400, seed, ())
    assert failures == []
    assert len(counts) == len(fuzz.KINDS)
