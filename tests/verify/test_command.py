"""The page of verify shows the times that `plan --estimate` has worked out before, and steps that a Mac has measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mpslint.estimate.step import Operators, StepWork
from mpslint.session.session import Options as Session
from mpslint.session.session import check_file
from mpslint.source.files import FoundFile
from mpslint.target.macs import macs
from mpslint.verify.asked import AskedFiles, files
from mpslint.verify.cache import ResultsCache
from mpslint.verify.calibrations import FILE, MeasuredSteps, keep_steps
from mpslint.verify.command import Request, _times
from mpslint.verify.job import Job
from mpslint.verify.outcome import Composition, Estimate
from mpslint.verify.platform import machine_of
from mpslint.verify.reading import FileReading, runs_of, spec_of
from mpslint.verify.record import to_data
from mpslint.verify.report import VerifyReport
from mpslint.verify.spec import VerifiedMac

TRAIN = """from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("gpt2")
trainer = Trainer(model, TrainingArguments("out", per_device_train_batch_size=4), train_dataset=data)
trainer.train()
"""
WORK = StepWork((Operators("matmul", "matmul", "float32", 1e12, 1e9, 3),), 4)


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
    """Keep what `plan --estimate` would have worked out for a script."""
    (found,) = files(request.asked)
    checked = check_file(replace(found, is_named=True), request.asked.session).checked
    assert checked is not None
    machine, _ = machine_of(checked.target)
    spec = spec_of(runs_of(checked)[0], "as written").spec
    cache = ResultsCache.here()
    cache.put(
        Job("estimate", machine, (spec,), memory_sizes=macs().listed), to_data(Estimate("as written", Composition(2**30, "forward"), 1, 4))
    )
    cache.put(Job("work", machine, (spec,)), to_data(WORK))


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
