"""A step-by-step memory log is classified by its shape, and said to be too short when it is."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpslint.core.series import theil_sen, thinned
from mpslint.diagnose import Explained, Log, diagnose
from mpslint.diagnose.catalogue import catalogue
from mpslint.diagnose.memory_log import (
    DRIVER_GROWS,
    EVALUATION_JUMP,
    FLAT,
    JUMP,
    LIVE_GROWS,
    TOO_SHORT,
    growth,
    jump,
    read_memory_log,
)
from mpslint.run.monitor import Monitor

Curve = Callable[[int], float]


def noisy(level: float, seed: int = 1) -> Curve:
    """Return a flat curve with half a percent of noise."""
    chance = random.Random(seed)
    return lambda step: level * (1 + chance.uniform(-0.005, 0.005))


def lines(live: Curve, driver: Curve, steps: int = 100) -> str:
    """Return a log as the issue that people copy from shows it."""
    return "\n".join(f"step={step} | live_tensors={live(step):.2f} GiB | driver={driver(step):.2f} GiB" for step in range(steps))


def table(live: Curve, driver: Curve, steps: int = 100, header: str = "step,live_bytes,driver_bytes") -> str:
    """Return a log as CSV, in bytes."""
    rows = (f"{step},{live(step) * 2**30:.0f},{driver(step) * 2**30:.0f}" for step in range(steps))
    return "\n".join([header, *rows])


@pytest.mark.parametrize("form", [lines, table])
@pytest.mark.parametrize(
    ("live", "driver", "verdict"),
    [
        (lambda step: 2 + step * 0.02, lambda step: 4 + step * 0.02, LIVE_GROWS),
        (noisy(4.2), lambda step: 5 + step * 0.1, DRIVER_GROWS),
        (noisy(4.2), lambda step: 5.0 + step // 20, DRIVER_GROWS),
        (noisy(4.2), noisy(6.0, 2), FLAT),
        (noisy(4.2), lambda step: 6.0 if step < 60 else 14.0, JUMP),
    ],
    ids=["live", "driver", "driver in stairs", "flat", "one jump"],
)
def test_the_shape_decides(form: Callable[[Curve, Curve], str], live: Curve, driver: Curve, verdict: str) -> None:
    """Growth of live tensors, growth outside them, one jump and no growth are told apart, as lines and as CSV."""
    log = read_memory_log(form(live, driver))

    assert log is not None
    assert log.verdict == verdict
    assert log.certain
    assert log.points == 100
    assert log.has_units


def test_a_jump_beside_an_evaluation_is_one_at_evaluation() -> None:
    """What the log prints between two steps, or its phase column, says that the jump is the evaluation's."""
    before = lines(noisy(4.2), noisy(6.0), 50)
    after = lines(noisy(4.2), noisy(12.0), 50).replace("step=", "step=1")
    phases = "\n".join(
        ["step,live_gib,driver_gib,phase"]
        + [f"{step},4.2,{6.0 if step < 30 else 12.0},{'evaluate' if step == 30 else 'train'}" for step in range(60)]
    )

    printed = read_memory_log(f"{before}\n***** Running Evaluation *****\n{after}")
    phased = read_memory_log(phases)

    assert printed is not None
    assert printed.verdict == EVALUATION_JUMP
    assert phased is not None
    assert phased.verdict == EVALUATION_JUMP
    assert phased.jump_step == 30


@pytest.mark.parametrize("steps", [2, 5, 7])
def test_a_short_log_says_so(steps: int) -> None:
    """A handful of points decides nothing, whichever way they go."""
    diagnosis = diagnose(Log("short", lines(lambda step: 2 + step, lambda step: 4 + step, steps)))

    assert diagnosis.memory_log is not None
    assert diagnosis.memory_log.verdict == TOO_SHORT
    assert diagnosis.outcome is Explained.UNCERTAIN


def test_flat_for_twenty_points_is_not_yet_flat() -> None:
    """Flatness needs more points than growth, since growth may only start later."""
    log = read_memory_log(lines(noisy(4.2), noisy(6.0), 20))

    assert log is not None
    assert log.verdict == FLAT
    assert not log.certain


def test_numbers_without_a_unit_are_judged_by_shape_only() -> None:
    """Without a unit no amount is claimed; whole bytes are told by their size."""
    bare = read_memory_log("step,live,driver\n" + "\n".join(f"{step},4.2,{5 + step * 0.1}" for step in range(60)))
    counted = read_memory_log(table(noisy(4.2), noisy(6.0), header="step,live,driver"))

    assert bare is not None
    assert (bare.verdict, bare.has_units) == (DRIVER_GROWS, False)
    assert counted is not None
    assert counted.has_units


def test_a_wrapped_number_is_left_out() -> None:
    """A point that no machine can have is an unsigned wrap, not a jump."""
    log = read_memory_log(lines(noisy(4.2), lambda step: 17179869184.0 if step == 40 else 6.0))

    assert log is not None
    assert log.verdict == FLAT
    assert log.dropped == 1


@pytest.mark.parametrize(
    "line",
    [
        "step={step} | live_tensors=4.20 GiB | driver={driver:.2f} GiB",
        "[rank0]: [INFO] step {step}: live 4.20 GiB, driver {driver:.2f} GiB",
        "\x1b[32mstep={step}\x1b[0m live=4300MB driver={driver:.2f}GB",
        "{{'global_step': {step}, 'mps_allocated': 4.2, 'driver_allocated': {driver:.2f}}}",
        "2026-03-01 10:00:00 train.py step={step} allocated: 4.20 GB reserved: {driver:.2f} GB",
        "Step {step} Live: 4.20 GiB Driver: {driver:.2f} GiB",
        "1|{step}| ... | {step}/25880 [00:10<6:01:09,  1.19it/s]Step {step} | loss:1.303 lr:2e-05 "
        "peak_memory_active:2.867 peak_memory_alloc:{driver:.3f}",
    ],
)
def test_lines_of_many_kinds(line: str) -> None:
    """Loggers write the same three numbers in many ways."""
    log = read_memory_log("\n".join(line.format(step=step, driver=5 + step * 0.2) for step in range(40)))

    assert log is not None
    assert log.verdict == DRIVER_GROWS
    assert log.points == 40


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_tables_of_many_kinds(separator: str) -> None:
    """Separators, quoted names, units in names and columns that nobody needs are no trouble."""
    names = ["time", '"global_step"', "loss", "live (MB)", "driver_mib"]
    rows = [["t", str(step), "0.5", "4000.0", f"{6000 + step * 50}"] for step in range(60)]

    log = read_memory_log("\n".join(separator.join(row) for row in [names, *rows]))

    assert log is not None
    assert log.verdict == DRIVER_GROWS
    assert log.has_units


def test_driver_memory_alone_is_enough() -> None:
    """A log of the driver's total alone is classified too."""
    log = read_memory_log("\n".join(f"step={step} driver={5 + step * 0.2:.2f} GiB" for step in range(40)))

    assert log is not None
    assert log.verdict == DRIVER_GROWS
    assert log.first.live is None


def test_a_very_long_log_is_thinned() -> None:
    """A million steps are judged by a few thousand of them."""
    log = read_memory_log(lines(noisy(4.2), lambda step: 5 + step * 0.0001, 30_000))

    assert log is not None
    assert log.verdict == DRIVER_GROWS
    assert log.points <= 6_000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the driver of the car allocated 4 GB",
        "driver=5 GiB",
        "step=1 driver=5 GiB",
        "MPS allocated: 4.20 GiB, other allocations: 43.49 GiB, max allowed: 47.74 GiB",
        "name,driver\nAnn,truck\nBen,bus\n",
    ],
)
def test_no_memory_log(text: str) -> None:
    """Words about memory are no log of it."""
    assert read_memory_log(text) is None


@given(st.lists(st.tuples(st.floats(0, 1e13), st.floats(0, 1e13)), min_size=2, max_size=40))
def test_any_numbers_are_classified(pairs: list[tuple[float, float]]) -> None:
    """No series stops the classification."""
    rows = "\n".join(f"{step},{live:.0f},{driver:.0f}" for step, (live, driver) in enumerate(pairs))

    log = read_memory_log(f"step,live_bytes,driver_bytes\n{rows}")

    assert log is None or log.verdict in catalogue().verdicts


def test_the_trend_ignores_single_outliers() -> None:
    """One spike in a flat series is no growth; a steady rise is."""
    flat = [2.0] * 50
    spiked = [*flat[:25], 9.0, *flat[25:]]

    assert theil_sen(spiked) == 0
    assert growth([2 + step * 0.01 for step in range(100)]) == pytest.approx(0.47, abs=0.05)
    assert growth([0.0] * 10) == 0
    assert theil_sen([1.0, 2.0]) == 1


def test_a_jump_must_last() -> None:
    """A spike that goes back, a jump in the last points and a steady rise are no jump."""
    assert jump([1.0] * 10 + [5.0] * 10, 0.15, 0.5) == 10
    assert jump([1.0] * 10 + [5.0] + [1.0] * 10, 0.15, 0.5) is None
    assert jump([1.0] * 10 + [5.0], 0.15, 0.5) is None
    assert jump([float(step) for step in range(1, 20)], 0.15, 0.5) is None
    assert jump([1.0, 2.0], 0.15, 0.5) is None


def test_thinning_keeps_the_ends() -> None:
    """A thinned series starts and ends as the whole one."""
    values = thinned(list(range(1000)), 10)

    assert len(values) == 10
    assert (values[0], values[-1]) == ((0, 0), (999, 999))
    assert thinned([1, 2], 10) == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("live", "driver", "verdict"),
    [
        (lambda step: 2 + step * 0.02, lambda step: 4 + step * 0.02, LIVE_GROWS),
        (noisy(2), lambda step: 4 + step * 0.05, DRIVER_GROWS),
        (noisy(2), noisy(4, 2), FLAT),
    ],
)
def test_the_csv_of_the_monitor_is_read(tmp_path: Path, live: Curve, driver: Curve, verdict: str) -> None:
    """What mpslint.run.monitor writes in a real run, diagnose takes: the same columns, the same words for them."""
    steps = iter(range(1000))

    def read() -> tuple[int, int, int]:
        step = next(steps)
        return round(live(step) * 2**30), round(driver(step) * 2**30), 1000 * 2**30

    monitor = Monitor(tmp_path / "memory.csv", every=1, horizon=1, read=read)
    for _ in range(100):
        monitor.step()
    monitor.close()
    found = read_memory_log((tmp_path / "memory.csv").read_text())

    assert found is not None
    assert found.verdict == verdict
