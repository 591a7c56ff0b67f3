"""The row of this machine, and what it does to the other rows."""

from __future__ import annotations

import pytest

from mpslint.estimate.calibration import Calibration, calibrated, measured, with_here
from mpslint.estimate.forecast import forecast
from mpslint.estimate.step import Operators, StepWork
from mpslint.estimate.timing import ChipAndMemory, named_chips, step_time

WORK = StepWork((Operators("matmul", "matmul", "float32", 1e12, 1e8, 3),), 16, 1024)
MACS = [ChipAndMemory(named_chips("M4 Pro")[0], 24), ChipAndMemory(named_chips("M4")[1], 16)]
ROWS = forecast(WORK, 2**30, MACS, {})


def rates(device: str, machine: str, tflops: float) -> Calibration:
    """Return rates of a machine whose matmuls all run at one rate."""
    curves = {"matmul": ((1e12, 1 / tflops),), "elementwise": ((1e6, 1e-5),)}
    return Calibration(device, machine, "2.13.0", "2026-11-22", curves, ("matmul",), 0.0, 0.0, 0.0, 10.0)


def test_other_macs_are_scaled_from_this_one() -> None:
    """A Mac that is twice as slow as the model says makes the others twice as slow, with a range of their ratios."""
    model = step_time(WORK, named_chips("M2 Pro")[1]).seconds
    slow = rates("mps", "Apple M2 Pro", 3 / (2 * model))
    slow_chip = min(named_chips("M2 Pro"), key=lambda chip: abs(chip.rate("float32") - slow.rate("matmul")))
    made = with_here(ROWS, calibrated(WORK, slow), {})

    assert made.rows[0].mac == "this Mac (Apple M2 Pro)"
    assert made.rows[1].basis == "scaled from this Mac"
    assert made.rows[1].step is not None
    assert ROWS.rows[0].step is not None
    factor = made.rows[0].step.seconds / step_time(WORK, slow_chip).seconds  # type: ignore[union-attr]
    assert made.rows[1].step.seconds == pytest.approx(ROWS.rows[0].step.seconds * factor)


def test_a_cpu_says_nothing_about_macs() -> None:
    """What was measured on another kind of machine is a row, and changes no other."""
    made = with_here(ROWS, calibrated(WORK, rates("cpu", "x86_64", 0.1)), {})

    assert made.rows[0].mac == "this machine (cpu, x86_64)"
    assert made.rows[1:] == ROWS.rows


def test_measured_steps_keep_their_own_spread() -> None:
    """A step that was run is as exact as it was measured; two variants of a chip that can't be told apart scale nothing."""
    made = with_here(ROWS, measured(0.7, 0.08, "Apple M2 Pro", "mps", "20 steps on 2026-11-22"), {})

    step = made.rows[0].step
    assert step is not None
    assert (step.low, step.high) == pytest.approx((0.7 * 0.92, 0.7 * 1.08))
    assert made.rows[1:] == ROWS.rows
