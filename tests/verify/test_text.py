"""A report in the terminal: it fits the terminals that people have."""

from __future__ import annotations

import io

from rich.console import Console

from mpslint.verify.outcome import Check, RunResult, StepRecord, Verdict
from mpslint.verify.report import VerifyReport
from mpslint.verify.script import doubt_of
from mpslint.verify.spec import VerifiedMac
from mpslint.verify.text import print_report

GIB = 2**30


def printed(report: VerifyReport) -> str:
    """Return a report as text without colours."""
    written = io.StringIO()
    print_report(report, Console(file=written, width=200, color_system=None))
    return written.getvalue()


def test_what_holds_for_every_run_is_said_once() -> None:
    """Notes on four runs aren't four lines, and the losses of the run on the CPU stand in the table."""
    steps = (StepRecord(1, live=1, peak=1, driver=1, new_graph_keys=1),)
    both = {"notes": ("the run was ended after 1 optimizer step",), "changes": ("DataLoader workers 4 → 0",)}
    runs = (
        RunResult("as written", "emulated", steps, **both),  # type: ignore[arg-type]
        RunResult("as written", "cpu", (StepRecord(1, loss=0.5), StepRecord(2, loss=0.25)), notes=both["notes"]),
    )
    text = printed(VerifyReport("train.py", VerifiedMac(), runs, (Verdict("as written", "pass", "", ()),)))

    assert text.count("ended after 1 optimizer step") == 1
    assert "note          the run was ended after 1 optimizer step" in text
    assert "shortened     as written, emulated: DataLoader workers 4 → 0" in text
    assert "0.5000 → 0.2500" in text


def test_a_verdict_without_checks_says_why() -> None:
    """`not run` never stands alone."""
    verdicts = (
        Verdict("as written", "not run", "it trains on the CPU"),
        Verdict("as rewritten", "pass", "", (Check("fits", "pass", "ok"),)),
    )
    text = printed(VerifyReport("train.py", VerifiedMac(), (RunResult("as rewritten", "emulated"),), verdicts))

    assert "as written: NOT RUN: it trains on the CPU" in text


def test_a_run_on_the_cpu_that_did_not_get_there_clears_nothing() -> None:
    """An exception of the emulation is doubted where the CPU goes on past it, not where the CPU run was ended before."""
    ten, one = tuple(StepRecord(number) for number in range(1, 11)), (StepRecord(1),)
    missing = RunResult("train.py", "emulated", ten, failure="FileNotFoundError: [Errno 2] No such file or directory: 'out/1.png'")
    odd = RunResult("train.py", "emulated", ten, failure="IndexError: list index out of range")

    assert doubt_of(missing, RunResult("train.py", "cpu", one)) == ""
    assert "on the CPU the code goes on" in doubt_of(missing, RunResult("train.py", "cpu", ten))
    assert "the run on the CPU was ended before" in doubt_of(odd, RunResult("train.py", "cpu", one))
    assert "on the CPU the code goes on" in doubt_of(odd, RunResult("train.py", "cpu", ten))


def test_words_are_explained_where_they_first_stand() -> None:
    """Before the checks that use them, and only those."""
    checks = (Check("driver memory", "pass", "it reaches 2 GiB"), Check("fits", "pass", "ok"))
    run = RunResult("as written", "emulated", (StepRecord(1, live=1, peak=1, driver=1, new_graph_keys=1),))
    text = printed(VerifyReport("train.py", VerifiedMac(), (run,), (Verdict("as written", "pass", "", checks),)))

    assert text.index("words         driver memory: all that Metal holds") < text.index("driver memory: it reaches")
    assert "compiled graphs: what" not in text
