"""What GitHub refuses is not written: too many results, or too large a file. The worst findings stay, and the rest is counted."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from mpslint.report.formats import sarif
from mpslint.report.machine import full_view
from mpslint.report.records import CheckReport
from mpslint.session.session import Options, check_file
from mpslint.source.files import FoundFile

TRAINING = (
    "from transformers import Trainer, TrainingArguments\nargs = TrainingArguments('out', fp16=True)\ntrainer = Trainer(model, args)\n"
)


@pytest.fixture
def report(tmp_path: Path) -> CheckReport:
    """Some files, each with a warning and a note."""
    for number in range(20):
        (tmp_path / f"train{number}.py").write_text(TRAINING)
    options = Options(isolated=True, target={"torch": "2.13"}, select=("MPS101", "MPS602"))
    return CheckReport([full_view(check_file(FoundFile(str(path)), options)) for path in sorted(tmp_path.iterdir())])


def run_of(text: str) -> dict[str, Any]:
    """The one run of a log."""
    run: dict[str, Any] = json.loads(text)["runs"][0]
    return run


def test_a_report_within_the_limits_is_whole(report: CheckReport) -> None:
    """And says nothing of limits."""
    run = run_of(sarif.render(report))

    assert len(run["results"]) == sum(len(file.findings) for file in report.files) == 40
    assert run["invocations"][0]["toolExecutionNotifications"] == []


def test_of_too_many_results_the_worst_stay(report: CheckReport, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log says how many are left out."""
    levels = {result["level"] for result in run_of(sarif.render(report))["results"]}
    assert len(levels) == 2
    monkeypatch.setattr(sarif, "MOST_RESULTS", 15)
    run = run_of(sarif.render(report))

    assert len(run["results"]) == 15
    assert {result["level"] for result in run["results"]} == levels - {"note"}
    assert "25 less severe findings are left out" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]


def test_a_report_that_is_too_large_is_cut_until_it_fits(report: CheckReport, monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts is the compressed size."""
    whole = sarif.render(report)
    limit = len(gzip.compress(whole.encode())) - 200
    monkeypatch.setattr(sarif, "MOST_BYTES", limit)
    text = sarif.render(report)

    assert len(gzip.compress(text.encode())) <= limit < len(gzip.compress(whole.encode()))
    assert len(run_of(text)["results"]) in (20, 10)
    assert "less severe findings are left out" in text
