"""Curves told apart: flat, growing, stepping, sawtooth, slowing down."""

from __future__ import annotations

import math
import random

import pytest

from mpslint.core.series import mann_kendall, theil_sen
from mpslint.verify.trend import judge

MB = 2**20
BASE = 2048 * MB


def series(shape: str, count: int, noise: float, seed: int) -> list[float]:
    """Return a curve around 2 GB with relative noise."""
    draw = random.Random(seed)
    found = []
    for step in range(count):
        value = float(BASE)
        if shape.startswith("leak"):
            value += step * float(shape[4:]) * MB
        elif shape == "sawtooth":
            value += step % 10 * 0.02 * BASE
        elif shape == "jump" and step > 0.55 * count:
            value *= 1.3
        elif shape == "warm-up":
            value += 0.3 * BASE * (1 - math.exp(-step / 8))
        found.append(value * (1 + draw.gauss(0, noise)))
    return found


@pytest.mark.parametrize(
    ("shape", "noise", "kind"),
    [
        ("flat", 0.0, "flat"),
        ("flat", 0.005, "flat"),
        ("flat", 0.02, "flat"),
        ("leak1", 0.0, "growth"),
        ("leak1", 0.005, "growth"),
        ("leak3", 0.005, "growth"),
        ("leak10", 0.02, "growth"),
        ("sawtooth", 0.0, "flat"),
        ("sawtooth", 0.005, "flat"),
        ("jump", 0.0, "step"),
        ("jump", 0.0005, "step"),
        ("warm-up", 0.0, "flat"),
    ],
)
def test_a_hundred_steps_are_enough(shape: str, noise: float, kind: str) -> None:
    """Of 20 curves of each family at least 18 are read right."""
    found = [judge(series(shape, 120, noise, seed), 2000).kind for seed in range(20)]

    assert found.count(kind) >= 18, found


def test_a_leak_too_small_for_the_run_is_flat() -> None:
    """Growth is judged by what it comes to over the run: 0.05 MB a step matters in 100,000 steps, not in 500."""
    values = series("leak0.05", 100, 0.0, 0)

    assert judge(values, 500).kind == "flat"
    assert judge(values, 100_000).kind == "growth"


def test_a_jump_names_its_place() -> None:
    """A lasting jump is reported with index and height."""
    found = judge(series("jump", 100, 0.0, 0), 2000)

    assert [index for index, _ in found.jumps] == [56]
    assert found.jumps[0][1] == pytest.approx(0.3 * BASE, rel=0.01)


def test_too_few_steps_are_too_few() -> None:
    """Fewer than 8 steps, or fewer than three periods of a sawtooth, decide nothing."""
    assert judge([1.0] * 7, 100).kind == "short"
    assert judge([BASE + i % 20 * 0.02 * BASE for i in range(30)], 2000).kind in ("short", "flat")


def test_a_sawtooth_too_small_to_matter_is_flat() -> None:
    """Lengths drawn at random look like a sawtooth; a few hundred KiB of it cannot become a gigabyte in the run."""
    draw = random.Random(5)
    small = [100e3 + draw.choice([0, 0, 0, 50e3]) + 40e3 * (step % 23) / 23 for step in range(30)]

    assert judge(small, 2000).kind == "flat"
    assert judge([value * 1e6 for value in small], 2000).kind != "growth"


def test_slopes_and_probabilities() -> None:
    """The median slope ignores an outlier; a rising curve is unlikely by chance, a constant one is not."""
    assert theil_sen([0, 1, 2, 300, 4, 5, 6]) == pytest.approx(1.0)
    assert mann_kendall(list(range(20))) > 3
    assert mann_kendall([3.0] * 20) == 0.0
