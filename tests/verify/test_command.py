"""The times that `plan --estimate` works out, and steps that a Mac has measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mpslint.core.data import to_data
from mpslint.estimate.forecast import Forecast
from mpslint.estimate.step import Operators, StepWork
from mpslint.estimate.timing import macs_of
from mpslint.session.session import Options as Session
from mpslint.verify import verify
from mpslint.verify.calibrations import FILE, MeasuredSteps, keep_steps
from mpslint.verify.files import estimate_file
from mpslint.verify.outcome import Composition, Fit, RunResult, StepRecord
from mpslint.verify.start import AskedFiles, files
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


def times_of(path: Path, chip: str = "") -> Forecast:
    """Return how long `plan --estimate` says that a script takes, as if its runs gave these results."""
    asked = AskedFiles((str(path),), Session())
    (found,) = files(asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verify, "run_own", lambda script, options, progress: Answer(to_data(RESULT)))
        times = estimate_file(replace(found, is_named=True), asked, macs=macs_of((chip,) if chip else ())).forecast
    assert times is not None
    return times


def test_times_are_those_of_the_chip_that_was_asked_for(train: Path) -> None:
    """Without one they are those of all."""
    assert len(times_of(train).rows) > 10
    assert {row.mac.split()[0] for row in times_of(train, "M4").rows} == {"M4"}


def test_what_this_mac_measured_comes_first(train: Path) -> None:
    """The steps that `mpslint run` or verify kept of this script; other scripts' steps say nothing."""
    measured = MeasuredSteps(FILE + str(train.resolve()), "mps", "Apple M2", "2.13.0", "2026-11-22", 20, 0.7, 0.08)
    keep_steps(replace(measured, run=FILE + "/elsewhere/train.py"))
    before = times_of(train)
    keep_steps(measured)
    first, *others = times_of(train).rows

    assert not any(row.basis for row in before.rows)
    assert (first.mac, first.basis) == ("this Mac (Apple M2)", "measured in 20 steps on 2026-11-22, torch 2.13.0")
    assert first.step is not None
    assert first.step.seconds == 0.7
    assert others
