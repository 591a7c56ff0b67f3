"""Where LibCST is not installed, as in the browser: fixes that need it are named, all others are written."""

from __future__ import annotations

import sys

import pytest

import mpslint
import mpslint.program

UNUSUAL = "from transformers import TrainingArguments\nargs = TrainingArguments('out', fp16=True, )\n"


def test_a_fix_that_needs_libcst_is_said_and_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are written, and nothing raises."""
    with_it = {finding.rule: finding for finding in mpslint.check(UNUSUAL, select=["ALL"]).findings}
    monkeypatch.setitem(sys.modules, "libcst", None)
    monkeypatch.delitem(sys.modules, "mpslint.program.lossless", raising=False)
    monkeypatch.delattr(mpslint.program, "lossless", raising=False)
    without = {finding.rule: finding for finding in mpslint.check(UNUSUAL, select=["ALL"]).findings}

    assert with_it.keys() == without.keys()
    assert (with_it["MPS602"].safety, without["MPS602"].safety) == ("safe", "manual")
    assert without["MPS602"].fix == "`mpslint fix` writes this fix where LibCST is installed"
    assert without["MPS101"] == with_it["MPS101"]
    assert "fp16=torch.cuda.is_available()" in mpslint.fix(UNUSUAL).text
