"""A report in the terminal: it fits the terminals that people have."""

from __future__ import annotations

import io

from rich.console import Console

from mpslint.verify.matrix import conclude, ladder
from mpslint.verify.outcome import Backing, Check, RunResult, StepRecord, Verdict
from mpslint.verify.report import VerifyReport
from mpslint.verify.spec import Lengths, RunSpec, VerifiedMac
from mpslint.verify.text import print_report

GIB = 2**30


def test_a_matrix_fits_100_columns() -> None:
    """Every experiment on one line of its table, with its numbers, and no line wider than the terminal."""
    steps = tuple(StepRecord(n, driver=300 * GIB, new_graph_keys=12_345 - n) for n in range(1, 9))
    rungs = list(ladder(RunSpec("t5-small", "seq2seq_lm", source=Lengths(1024, 380), target=Lengths(128, 28))))
    runs = tuple(RunResult(rung.spec.name, "emulated", steps, largest_peak=300 * GIB) for rung in rungs)
    check = Check(
        "driver memory", "fail", "predicted driver memory grows from 10.5 GiB to 41.3 GiB " * 3, (Backing("predicted by", "MPS301"),)
    )
    verdicts = tuple(Verdict(run.name, "fail", "", (check,)) for run in runs)
    report = VerifyReport("t5-small", VerifiedMac(), runs, verdicts, (conclude({"A": [check], "B": []}, None),), settings={"matrix": True})
    written = io.StringIO()
    print_report(report, Console(file=written, width=100, force_terminal=True, color_system=None))
    lines = written.getvalue().splitlines()

    assert len(runs) == 7
    assert max(len(line.rstrip()) for line in lines) <= 100
    for run in runs:
        assert [line for line in lines if line.startswith(f"{run.name} ") and "300.0 GiB" in line and "12344 → 12337" in line], run.name
