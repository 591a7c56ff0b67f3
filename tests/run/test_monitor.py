"""The monitor in the user's own run: readings, CSV, a warning when memory grows, and what it costs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from mpslint.run.monitor import HEADER, MemoryGrowth, Monitor, Reader, watch

GB = 2**30


def reader(growth: int, limit: int = 10 * GB) -> Reader:
    """Return a reader of memory that grows by so many bytes a reading."""
    values: Iterator[int] = iter(range(2 * GB, 2**62, growth)) if growth else iter(lambda: 2 * GB, None)
    return lambda: (GB, next(values), limit)


def test_readings_are_written_as_they_come(tmp_path: Path) -> None:
    """The first step and every tenth are read; the last one too, when it ends."""
    monitor = Monitor(tmp_path / "m.csv", every=10, read=reader(0))
    for _ in range(25):
        monitor.step()
    assert (tmp_path / "m.csv").read_text().startswith(HEADER)
    monitor.close()

    lines = (tmp_path / "m.csv").read_text().splitlines()[1:]
    assert [int(line.split(",")[0]) for line in lines] == [1, 10, 20, 25]
    assert lines[0].endswith(f",{GB},{2 * GB},{10 * GB}")


def test_growth_towards_the_limit_warns_once() -> None:
    """A slope that passes the limit before the end of the run is said once, with the steps that are left."""
    monitor = Monitor(every=1, horizon=10_000, read=reader(2**20))

    def train() -> None:
        for _ in range(200):
            monitor.step()

    with pytest.warns(MemoryGrowth, match=r"driver memory grows by 1.00 MiB a step and passes the 10.0 GiB") as caught:
        train()

    assert len(caught) == 1


@pytest.mark.parametrize(("growth", "limit"), [(0, 10 * GB), (2**20, 2**50)])
def test_even_memory_and_far_limits_are_silent(growth: int, limit: int) -> None:
    """No warning for a flat curve, nor for growth that never reaches the limit."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monitor = Monitor(every=1, read=reader(growth, limit))
        for _ in range(100):
            monitor.step()


def test_a_step_costs_less_than_a_hundredth_of_100_ms(tmp_path: Path) -> None:
    """Reading at every tenth step, over 500 steps: far under 1 ms of the processor each."""
    monitor = Monitor(tmp_path / "m.csv", every=10, read=reader(0))
    start = time.process_time()
    for _ in range(500):
        monitor.step()
    monitor.close()

    assert (time.process_time() - start) / 500 < 0.001


@pytest.mark.filterwarnings("ignore:MPS isn't available")
def test_optimizers_count_by_themselves(tmp_path: Path) -> None:
    """Inside watch() every optimizer step counts; a loop that calls step() is counted once; afterwards nothing is."""
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)

    def train() -> None:
        layer(torch.ones(1, 2)).sum().backward()
        optimizer.step()

    with watch(tmp_path / "m.csv", every=1) as monitor:
        for _ in range(3):
            train()
    assert monitor.count == 3
    assert not (tmp_path / "m.csv").exists()
    with watch(every=1) as other:
        for _ in range(3):
            other.step()
            train()
    assert other.count == 3
    train()
    assert other.count == 3


def test_every_must_be_positive() -> None:
    """A cadence of 0 is an error."""
    with pytest.raises(ValueError, match="every must be at least 1"):
        Monitor(every=0)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_the_trainer_callback_follows_a_run(tmp_path: Path) -> None:
    """MPSMemoryCallback reads at the Trainer's steps and closes its CSV."""
    pytest.importorskip("transformers")
    from transformers import TrainerControl, TrainerState, TrainingArguments

    from mpslint.run.monitor import MPSMemoryCallback

    callback = MPSMemoryCallback(tmp_path / "m.csv", every=2, read=reader(0))
    state, control = TrainerState(max_steps=6), TrainerControl()
    arguments = TrainingArguments(str(tmp_path), report_to=[], use_cpu=True)
    callback.on_train_begin(arguments, state, control)
    for _ in range(6):
        callback.on_step_end(arguments, state, control)
    callback.on_train_end(arguments, state, control)

    assert callback.monitor.horizon == 6
    assert len((tmp_path / "m.csv").read_text().splitlines()) == 1 + 4
