"""What the watcher says of the steps, memory and values that a run tells."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from mpslint.report.run_ending import told_of_signal
from mpslint.run.events import MOST_STEPS, EventFolder, Observed, Step, StepTable, Values
from mpslint.run.watcher import Watcher, limit_of, seconds_a_step, trend_of


def observed(drivers: list[int], shapes: int = 1) -> Observed:
    """Return a run on MPS with this driver memory after each step."""
    steps = [Step(number, number * 0.5, 2**30, driver, min(number, shapes)) for number, driver in enumerate(drivers, 1)]
    return Observed(device="mps", has_mps=True, recommended=8 * 2**30, steps=steps)


def said_of(run: Observed, **state: int) -> list[str]:
    """Return what a watcher says of a run, looked at twice."""
    lines: list[str] = []
    watcher = Watcher(lines.append, lambda run, verdict: "; train.py:4 MPS301: padded", swap_at_start=0)
    for name, value in state.items():
        setattr(watcher, name, value)
    watcher.look(run, 1.0)
    watcher.look(run, 2.0)
    return lines


def test_the_rest_of_a_run_is_told_where_its_steps_are_known() -> None:
    """By the pace so far, two steps a second."""
    run, watcher = observed([4 * 2**30] * 30), Watcher(print, lambda run, verdict: "")
    assert " left" not in watcher.status(run)
    run.planned = 120
    assert watcher.status(run).startswith("step 30 of 120, 2.00 steps/s, 45 s left")


def test_a_plateau_is_calm() -> None:
    """One jump at the beginning, then flat: no warning."""
    assert said_of(observed([2**30] * 5 + [3 * 2**30] * 100)) == []


def test_a_jump_is_named_by_what_was_done_before_it() -> None:
    """Once, and as no warning: the level holds."""
    run = observed([2 * 2**30] * 60 + [5 * 2**30] * 60)
    run.marks[60] = "evaluation"

    assert said_of(run) == ["driver memory rose by 3.00 GiB at step 61 (evaluation) and stays there"]


def test_swap_and_many_shapes_are_told_once_with_the_finding_of_check() -> None:
    """Each once, however often the run is looked at."""
    lines = said_of(observed([3 * 2**30] * 250, shapes=250), swap=3 * 2**30)

    assert lines == [
        "warning: 250 different batch shapes in 250 steps; MPS keeps buffers and graphs for each; train.py:4 MPS301: padded",
        "warning: 3.00 GiB went into swap since the run began",
    ]


def test_values_that_are_not_finite_have_a_likely_cause() -> None:
    """The first weight, the line that made its gradient, and half precision."""
    run = Observed(computed={"float16": 3, "float32": 1})
    run.values.append(Values(50, None, True, False, "head.weight", "train.py", 12))

    assert said_of(run) == [
        "warning: gradients are NaN or infinite at step 50 (looked at: step 10, every 50th); first in head.weight, by the backward pass at "
        "train.py:12; likely because 3 layers compute in float16, which overflows above 65,504"
    ]


def test_growth_that_the_run_ends_before_is_silent() -> None:
    """Where a trainer says how many steps it takes."""
    run = observed([2**30 + number * 2**25 for number in range(60)])
    run.planned = 100

    assert said_of(run) == []


def test_a_model_that_is_left_on_the_cpu_is_told() -> None:
    """Where there is MPS."""
    assert "trained on the CPU although MPS is available" in said_of(Observed(device="cpu", has_mps=True))[0]


def test_the_limit_is_the_watermark_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """1.7 times what Metal recommends, or the ratio that is set."""
    run = observed([2**30])
    monkeypatch.delenv("PYTORCH_MPS_HIGH_WATERMARK_RATIO", raising=False)
    default = limit_of(run)
    monkeypatch.setenv("PYTORCH_MPS_HIGH_WATERMARK_RATIO", "1.0")

    assert (default, limit_of(run)) == (int(1.7 * 8 * 2**30), 8 * 2**30)


def test_a_line_that_is_still_being_written_waits(tmp_path: Path) -> None:
    """The rest of it is read with the next poll."""
    path, events = tmp_path / "1.jsonl", EventFolder(tmp_path)
    path.write_text('["begin", "mps", true, 8, "2.13.0", ["float32"], "train.py"]\n["step", 1, 0.5, 1, 2')
    first = len(events.poll().steps)
    path.write_text(path.read_text() + ", 1]\n")

    assert (first, len(events.poll().steps)) == (0, 1)


def test_a_table_grows_with_the_run(tmp_path: Path) -> None:
    """No step twice."""
    run, table = observed([5, 6]), StepTable(tmp_path / "m.csv")
    table.update(run)
    run.steps.append(Step(3, 1.5, 1, 7, 1))
    table.update(run)

    assert [line.split(",")[0] for line in (tmp_path / "m.csv").read_text().splitlines()] == ["step", "1", "2", "3"]


def test_a_long_run_stays_small() -> None:
    """Every second step of it is kept, the last one always; its table has each step once, in order."""
    run = Observed(device="mps", recommended=2**40)
    for number in range(1, MOST_STEPS + 1_000):
        run.take(["step", number, number * 0.1, 2**30, 2**30 + number * 2**20, 1])

    assert len(run.steps) <= MOST_STEPS
    assert [step.number for step in run.steps[-2:]] == [MOST_STEPS + 998, MOST_STEPS + 999]
    assert all(step.number % 2 == 0 for step in run.steps[:-1])
    assert seconds_a_step(run.steps) == pytest.approx(0.1)
    trend = trend_of(run, "driver")
    assert trend is not None
    assert trend.slope == pytest.approx(2**20)


def test_memory_above_what_metal_recommends_is_told() -> None:
    """Once: from there on the Mac may swap, and `--stop-before-swap` ends the run."""
    [line] = said_of(observed([9 * 2**30]))

    assert (
        line == "warning: driver memory of 9.00 GiB is more than the 8.00 GiB that Metal recommends (step 1): the Mac may swap from here on"
    )


def test_a_kill_is_told_with_the_last_memory() -> None:
    """The system gives no traceback; the last step says how full memory was."""
    run = observed([2**30, 13 * 2**30])

    assert told_of_signal(signal.SIGKILL, run) == (
        "ended by SIGKILL: the system ends a process so when memory runs out; driver memory at step 2 was 13.00 GiB of 13.60 GiB"
    )
    assert told_of_signal(signal.SIGTERM, run) == ""
