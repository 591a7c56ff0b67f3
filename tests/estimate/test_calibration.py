"""Steps at rates that were measured: between points, beyond them, and with a device that works beside the program."""

from __future__ import annotations

import dataclasses

import pytest

from mpslint.estimate.calibration import Calibration, at, calibrated_parts
from mpslint.estimate.step import Operators, StepWork

CURVES = {"matmul": ((1e6, 1e-4), (1e8, 1e-2)), "elementwise": ((1e4, 1e-5), (1e6, 1e-3))}
RATES = Calibration("cpu", "a machine", "2.13.0", "2026-11-22", CURVES, ("matmul",), 2e-6, 5e-6, 0.0, 10.0)
WORK = StepWork((Operators("matmul", "matmul", "float32", 1e7, 1e4, 10), Operators("gelu", "memory", "float32", 0, 1e5, 100)), 8, waits=2)


@pytest.mark.parametrize(("amount", "seconds"), [(10, 1e-4), (1e6, 1e-4), (1e7, 1e-3), (1e8, 1e-2), (1e10, 1.0)])
def test_seconds_follow_the_measured_points(amount: float, seconds: float) -> None:
    """Under the first point nothing gets faster, between two it goes along their logarithms, beyond the last at its rate."""
    assert at(CURVES["matmul"], amount) == pytest.approx(seconds)


def test_a_cpu_does_one_thing_after_the_other() -> None:
    """Operators, what the program needs for each, and waits add up; a kind that was not measured counts as elementwise."""
    parts = calibrated_parts(WORK, RATES, 0.3)

    assert parts == pytest.approx({"matmul": 10 * 1e-3, "memory": 100 * 1e-4, "launches": 110 * 2e-6, "fixed": 2 * 5e-6})


def test_a_gpu_works_beside_the_program() -> None:
    """Only a share of the launches counts where the GPU has more to do."""
    parts = calibrated_parts(WORK, dataclasses.replace(RATES, device="mps"), 0.3)

    assert parts["launches"] == pytest.approx(0.3 * 110 * 2e-6)


def test_the_best_rate_is_shown() -> None:
    """The rate of a kind is that of its fastest point; nothing was measured of others."""
    assert RATES.rate("matmul") == pytest.approx(1e10)
    assert RATES.rate("recurrent") == 0
