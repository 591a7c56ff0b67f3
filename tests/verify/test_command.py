"""The page of verify shows the times that `plan --estimate` has worked out before, and steps that a Mac has measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mpslint.estimate.chips import macs_of
from mpslint.estimate.step import Operators, StepWork
from mpslint.session.session import Options as Session
from mpslint.source.files import FoundFile
from mpslint.verify import verify
from mpslint.verify.asked import AskedFiles, files
from mpslint.verify.calibrations import FILE, MeasuredSteps, keep_steps
from mpslint.verify.command import Request, _times
from mpslint.verify.files import estimate_file
from mpslint.verify.outcome import Composition, Fit, RunResult, StepRecord
from mpslint.verify.reading import FileReading
from mpslint.verify.record import to_data
from mpslint.verify.report import VerifyReport
from mpslint.verify.spec import VerifiedMac
from mpslint.verify.work import Answer

TRAIN = """from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("gpt2")
trainer = Trainer(model, TrainingArguments("out", per_device_train_batch_size=4), train_dataset=data)
trainer.train()
"""
WORK = StepWork((Operators("matmul", "matmul", "float32", 1e12, 1e9, 3),), 4)
FITS = tuple(Fit(memory, 2**33, 2**30, "fits", 9) for memory in (8, 16, 24, 32, 64, 128))
RESULT = RunResult("as written", "emulated", (StepRecord(1, new_graph_keys=9),), Composition(2**30, "forward"), fits=FITS, work=WORK)


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script with a run, and empty caches."""
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path / "caches"))
    path = tmp_path / "train.py"
    path.write_text(TRAIN)
    return path


def asked_for(path: Path, **target: str) -> Request:
    """A request for a script and a Mac."""
    return Request(AskedFiles((str(path),), Session(target=target)))


def keep_estimate(path: Path, request: Request) -> None:
    """Have `plan --estimate` work out a script, as if its runs gave these results."""
    (found,) = files(request.asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verify, "run_own", lambda script, options, progress: Answer(to_data(RESULT)))
        estimate_file(replace(found, is_named=True), request.asked, macs=macs_of(()))


def report_on(path: Path) -> VerifyReport:
    """A report on the script's run."""
    return VerifyReport(str(FoundFile(str(path)).path), VerifiedMac(), reading=FileReading("Trainer", "macOS"))


def test_nothing_is_shown_that_was_not_worked_out(train: Path) -> None:
    """An estimate takes minutes, which nobody asked for."""
    assert _times(asked_for(train), [report_on(train)]) == {}


def test_a_kept_estimate_is_shown(train: Path) -> None:
    """For the chip that was asked for, unless the caches are not to be used, or no table has the chip."""
    request = asked_for(train)
    keep_estimate(train, request)
    everywhere = _times(request, [report_on(train)])[str(train)]
    chip = asked_for(train, chip="M4")
    keep_estimate(train, chip)

    assert len(everywhere.rows) > 10
    assert {row.mac.split()[0] for row in _times(chip, [report_on(train)])[str(train)].rows} == {"M4"}
    assert _times(replace(request, no_cache=True), [report_on(train)]) == {}
    assert _times(asked_for(train, chip="M99"), [report_on(train)]) == {}
    assert _times(request, [replace(report_on(train), reading=None)]) == {}


def test_what_this_mac_measured_comes_first(train: Path) -> None:
    """The steps that `mpslint run` or verify kept of this script; other scripts' steps say nothing."""
    request = asked_for(train)
    keep_estimate(train, request)
    measured = MeasuredSteps(FILE + str(train.resolve()), "mps", "Apple M2", "2.13.0", "2026-11-22", 20, 0.7, 0.08)
    keep_steps(replace(measured, run=FILE + "/elsewhere/train.py"))
    before = _times(request, [report_on(train)])[str(train)]
    keep_steps(measured)
    first, *others = _times(request, [report_on(train)])[str(train)].rows

    assert not any(row.basis for row in before.rows)
    assert (first.mac, first.basis) == ("this Mac (Apple M2)", "measured in 20 steps on 2026-11-22, torch 2.13.0")
    assert first.step is not None
    assert first.step.seconds == 0.7
    assert others
