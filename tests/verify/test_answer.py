"""The first line of a report: what becomes of the run, in one sentence."""

from __future__ import annotations

import pytest

from mpslint.verify.outcome import Check, RunResult
from mpslint.verify.report import VerifyReport
from mpslint.verify.spec import VerifiedMac
from mpslint.verify.text import answer
from mpslint.verify.verdict import decide

TWICE = (
    "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad()."
)
FULL = "RuntimeError: MPS backend out of memory (MPS allocated: 19.29 GiB, other allocations: 529.53 MiB). Tried to allocate 384.00 MiB."


@pytest.mark.parametrize(
    ("failure", "step", "said"),
    [
        (FULL, 1, "a.py: as written it runs out of memory at step 1 on a 16 GB Mac (a.py:20)."),
        (TWICE, 0, "Trying to backward through the graph a second time (or directly access saved tensors after they have already been"),
    ],
    ids=["memory ends in the first step", "a long exception"],
)
def test_an_exception_is_named(failure: str, step: int, said: str) -> None:
    """Both were `stops with RuntimeError`."""
    run = RunResult("as written", "emulated", failure=failure, out_of_memory=step)
    report = VerifyReport("a.py", VerifiedMac(), (run,), (decide("as written", [Check("starts", "fail", failure, line="a.py:20")]),))
    assert said in f"a.py: {answer(report)}"
