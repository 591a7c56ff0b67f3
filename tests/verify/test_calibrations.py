"""What calibration counts, and what is kept of it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mpslint.cli import run as cli_run
from mpslint.core.data import to_data
from mpslint.estimate.calibration import Calibration
from mpslint.estimate.step import StepWork
from mpslint.run.events import Observed, Step
from mpslint.verify import calibrations, verify
from mpslint.verify.calibrations import MeasuredSteps, forget, keep_run, keep_steps, kept, kept_steps
from mpslint.verify.child.calibrate import amount_of, programs, rising
from mpslint.verify.outcome import RunResult, StepRecord
from mpslint.verify.spec import Lengths, RunSpec
from mpslint.verify.work import Answer

RATES = Calibration("cpu", "x86_64", "2.13.0", "2026-11-22", {"matmul": ((1.0, 2.0),)}, ("matmul",), 0.0, 0.0, 0.0, 1.0)
STEPS = MeasuredSteps("abc", "mps", "Apple M2", "2.13.0", "2026-11-22", 20, 0.7, 0.08)


@pytest.fixture(autouse=True)
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a folder of caches of its own."""
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_every_program_is_of_its_kind() -> None:
    """Each program does something that is counted under its kind, and runs on a real device."""
    first = {}
    for kind, make in programs():
        first.setdefault(kind, make)

    for kind, make in first.items():
        amount, count = amount_of(make, kind in ("matmul", "attention", "convolution", "depthwise"))
        assert amount > 0, kind
        assert count >= 1
        make()()
    assert amount_of(first["matmul"], True) == (2 * 64**3, 1)


def test_noise_does_not_make_larger_ones_faster() -> None:
    """A small size that was disturbed takes no longer than the next larger one."""
    assert rising([(1, 5.0), (10, 2.0), (100, 3.0)]) == ((1, 2.0), (10, 2.0), (100, 3.0))


def test_what_is_kept_is_found_and_forgotten() -> None:
    """Rates and steps come back as they were, and `forget` removes both and nothing else."""
    calibrations._keep(calibrations.RATES, "cpu-x86_64-2.13.0", RATES)
    keep_steps(STEPS)

    assert kept() == (RATES,)
    assert kept_steps("abc") == (STEPS,)
    assert kept_steps("other") == ()
    assert forget() == 2
    assert kept() == ()


def test_a_real_run_is_kept_by_its_warm_steps() -> None:
    """The first steps compile and are left out; a run on a CPU, or one that is too short, is not kept."""
    keep_run("abc", "mps", "2.13.0+x", [30.0, 5.0, 5.0, *[0.5, 0.7, 0.9] * 4])
    keep_run("short", "mps", "2.13.0", [1.0] * 8)
    keep_run("cpu", "cpu", "2.13.0", [1.0] * 50)

    (found,) = kept_steps()
    assert (found.run, found.seconds, found.steps, found.torch) == ("abc", 0.7, 12, "2.13.0")
    assert 0.1 < found.off < 0.4


def test_verify_keeps_what_a_mac_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps of a run on MPS are kept under the run's spec, and the next estimate of the same run finds them."""
    spec = RunSpec("tiny", "causal_lm", Lengths(32))
    steps = tuple(StepRecord(number, seconds=0.25) for number in range(1, 21))
    result = RunResult("as written", "mps", steps, versions={"torch": "2.13.0"})
    monkeypatch.setattr(verify, "run_own", lambda *arguments: Answer(to_data(result)))

    verify.run_spec(spec, verify.ScriptOptions(backend="mps"), None)

    here = calibrations.here_of(StepWork((), 1), spec.digest(), "/nowhere.py")
    assert here is not None
    assert here.step.seconds == 0.25
    assert here.basis.startswith("measured in 16 steps on ")


def test_run_keeps_what_a_script_took(tmp_path: Path) -> None:
    """`mpslint run` keeps the steps of a script on MPS under its path."""
    observed = Observed(
        device="mps", has_mps=True, torch="2.13.0", steps=[Step(number, 2.0 * number, None, None, 1) for number in range(20)]
    )
    cli_run._keep(observed, str(tmp_path / "train.py"))

    (found,) = kept_steps(f"file:{(tmp_path / 'train.py').resolve()}")
    assert found.seconds == 2.0


def test_a_broken_file_is_left_out(caches: Path) -> None:
    """What another version wrote, or somebody edited, doesn't stop doctor."""
    calibrations._keep(calibrations.RATES, "cpu", RATES)
    (caches / "mpslint" / "calibration" / "rates-broken.json").write_text('{"device": 1}', encoding="utf-8")

    assert kept() == (RATES,)


def test_calibration_ends_with_whole_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole measuring, with one size of each kind: every kind has a point, and nothing is negative."""
    from mpslint.verify.child import calibrate as child

    monkeypatch.setattr(child, "SIZES", child.SIZES[:2])
    monkeypatch.setattr(child, "EACH", 0.0)
    threads = torch.get_num_threads()
    try:
        found = child.calibrate("cpu", "here")
    finally:
        torch.set_num_threads(threads)

    assert {"matmul", "attention", "convolution", "elementwise", "softmax"} <= set(found.curves)
    assert all(seconds > 0 and amount > 0 for curve in found.curves.values() for amount, seconds in curve)
    assert min(found.dispatch, found.wait, found.compile) >= 0
