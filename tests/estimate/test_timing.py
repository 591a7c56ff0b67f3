"""From work to seconds: what grows with what, and where the range is wide."""

from __future__ import annotations

import dataclasses

import pytest

from mpslint.estimate.forecast import forecast, forecast_notes, rates_of
from mpslint.estimate.step import Operators, StepWork
from mpslint.estimate.timing import LAUNCHES, ChipAndMemory, compiling, ends, named_chips, step_time

MATMUL = Operators("matmul", "matmul", "float32", 1e12, 1e9, 3)
SMALL = Operators("elementwise", "memory", "float32", 0, 4096, 3000)


def work(*operators: Operators, waits: int = 0) -> StepWork:
    """Return a step of some operators."""
    return StepWork(operators, 16, 16 * 512, waits=waits)


def test_a_matmul_takes_its_flop_and_a_copy_its_bytes() -> None:
    """Twice the cores halve a matmul, twice the bandwidth halves what only moves bytes."""
    small, large = named_chips("M1 Max")
    copy = Operators("elementwise", "memory", "float32", 0, 1e10, 3)

    ratio = step_time(work(MATMUL), small).parts["matmul"] / step_time(work(MATMUL), large).parts["matmul"]
    assert ratio == pytest.approx(large.cores / small.cores)
    assert step_time(work(copy), small).parts["memory"] == pytest.approx(step_time(work(copy), large).parts["memory"])


def test_thousands_of_small_operators_are_bound_by_launches() -> None:
    """A step of small operators takes the time of their launches, and its range is wide."""
    time = step_time(work(SMALL), named_chips("M4")[0])

    assert max(time.parts, key=lambda part: time.parts[part]) == LAUNCHES
    assert time.wide == ("steps under 0.1 s",)
    assert (time.low, time.high) == pytest.approx(ends("wide", time.seconds))


def test_parts_sum_up_to_the_step() -> None:
    """Nothing is counted twice or left out."""
    time = step_time(work(MATMUL, SMALL, waits=4), named_chips("M2")[0])

    assert sum(time.parts.values()) == pytest.approx(time.seconds)
    assert time.low < time.seconds < time.high


def test_the_range_is_wide_on_chips_without_measurements() -> None:
    """An Ultra and an M5 have few published points, which the estimate says."""
    assert step_time(work(MATMUL), named_chips("M1 Pro")[0]).wide == ()
    assert "few measurements of M3 Ultra" in step_time(work(MATMUL), named_chips("M3 Ultra")[0]).wide


def test_old_torch_is_slower_on_old_chips() -> None:
    """Up to torch 2.2 linear layers ran slower on M1 and M2, not on M3."""
    assert step_time(work(MATMUL), named_chips("M1")[0], (2, 1)).seconds > step_time(work(MATMUL), named_chips("M1")[0], (2, 8)).seconds
    assert step_time(work(MATMUL), named_chips("M3")[0], (2, 1)).seconds == step_time(work(MATMUL), named_chips("M3")[0], (2, 8)).seconds


def test_a_run_that_does_not_fit_has_no_time() -> None:
    """What swaps is not known; what fits has its time."""
    macs = tuple(ChipAndMemory(named_chips("M4")[1], size) for size in (16, 32))
    small, large = forecast(work(MATMUL), 15 * 2**30, macs, {}).rows

    assert (small.fits, small.step) == ("no", None)
    assert large.fits == "yes"
    assert large.step is not None


def test_rates_are_ranges_as_steps_are() -> None:
    """The slowest step gives the lowest rate; what swaps has none."""
    macs = tuple(ChipAndMemory(named_chips("M4")[1], size) for size in (16, 32))
    small, large = forecast(work(MATMUL), 15 * 2**30, macs, {}).rows
    assert large.step is not None
    slow, fast = (float(word) for word in rates_of(large.step, 16).split(" to "))

    assert rates_of(small.step, 16) == ""
    assert slow == pytest.approx(16 / large.step.high, rel=0.06)
    assert fast == pytest.approx(16 / large.step.low, rel=0.06)


def test_a_step_of_recurrent_layers_is_not_known() -> None:
    """Nothing was published of them, so nothing is guessed; where they are a small part, the range is wide and says so."""
    lstm = Operators("recurrent", "recurrent", "float32", 1e12, 1e9, 3)
    m4 = [ChipAndMemory(named_chips("M4")[1], 32)]
    most = forecast(work(lstm), 2**30, m4, {})
    some = forecast(work(lstm, dataclasses.replace(MATMUL, flop=2e13)), 2**30, m4, {})

    assert [row.step for row in most.rows] == [None]
    assert ["recurrent layers take most of a step" in line for line in most.unknown] == [True]
    assert some.rows[0].step is not None
    assert "recurrent layers" in some.rows[0].step.wide
    assert some.unknown == ()


def test_compiling_is_told_for_the_first_step_and_the_run() -> None:
    """By the torch; an unknown one says nothing."""
    made = forecast(
        dataclasses.replace(work(MATMUL), graphs_first=100, graphs_planned=1000),
        2**30,
        [ChipAndMemory(named_chips("M4")[1], 32)],
        {"torch": (2, 13)},
    )
    without = dataclasses.replace(made, compiling=None)

    assert (
        "compiling the 100 graphs of the first step takes about 1.7 s to 6.8 s, all 1,000 of the run 17 s to 68 s: from two measured first steps"
        in (forecast_notes(made))
    )
    assert not any("compiling" in line for line in forecast_notes(without))
    assert compiling({}) is None
