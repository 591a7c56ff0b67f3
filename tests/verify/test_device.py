"""Runs on a real GPU, exercised without one: a double of torch.mps replays what it would say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from mpslint.core.finding import ReadError
from mpslint.verify.child import device
from mpslint.verify.outcome import StepRecord
from mpslint.verify.spec import Lengths, RunSpec, VerifiedMac
from mpslint.verify.verdict import check_run, decide

GB = 2**30
GPT = {"model_type": "gpt2", "vocab_size": 128, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
SPEC = RunSpec("tiny", "causal_lm", Lengths(32, 12), config=GPT, train_batch=2, accumulation=2, dropout=0.0)


def silent(done: int, total: int, record: StepRecord) -> None:
    """Take progress, and do nothing about it."""


def replayed(driver: list[int], live: int = GB) -> device.Gauge:
    """Return a gauge that says recorded numbers, one driver reading a step; the training itself runs on the CPU."""
    readings: Iterator[int] = iter(driver)
    emptied: list[int] = []
    return device.Gauge("cpu", lambda: live, lambda: next(readings), lambda: 12 * GB, lambda: None, lambda: emptied.append(1))


def test_recorded_numbers_of_a_leaking_driver_fail() -> None:
    """Readings that were seen on a Mac with changing shapes: live flat, driver up to 20 GB."""
    readings = [min(3 + step, 20) * GB for step in range(18)]
    result = device.measure(SPEC, "mps", 18, silent, replayed(readings))
    verdict = decide("run", list(check_run(result, VerifiedMac(), SPEC, 2000)))

    assert [record.driver for record in result.steps] == readings
    assert all(record.loss is not None and record.seconds > 0 for record in result.steps)
    assert result.moved
    assert verdict.status == "fail"
    assert "driver memory grows from 3.0 GiB to 20.0 GiB" in verdict.reason
    assert "predicted" not in verdict.reason


def test_recorded_numbers_of_an_even_run_pass() -> None:
    """Readings of fixed shapes: nothing grows."""
    result = device.measure(SPEC, "mps", 12, silent, replayed([4 * GB] * 12))

    assert decide("run", list(check_run(result, VerifiedMac(), SPEC, 2000))).status == "pass"
    assert result.backend == "mps"
    assert result.versions["torch"] == torch.__version__


def test_an_exception_of_the_gpu_is_the_failure() -> None:
    """Out of memory ends the run with what was seen until then."""

    def raising() -> int:
        raise RuntimeError("MPS backend out of memory (MPS allocated: 9.0 GiB)\nmore")

    gauge = replayed([])
    broken = device.Gauge(gauge.device, gauge.live, raising, gauge.recommended, gauge.synchronize, gauge.empty_cache)
    result = device.measure(SPEC, "mps", 5, silent, broken)

    assert result.failure == "RuntimeError: MPS backend out of memory (MPS allocated: 9.0 GiB)"


def test_a_wrong_gradient_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradients that differ from the CPU's name the worst parameter; equal ones are silent."""
    assert device.gradient_troubles(SPEC, "cpu") == ()
    original: Callable[..., list[tuple[str, torch.Tensor]]] = device._gradients
    calls: list[int] = []

    def wrong(*args: object) -> list[tuple[str, torch.Tensor]]:
        calls.append(1)
        found = original(*args)
        return [(name, value * 3 if name.endswith("ln_f.weight") and len(calls) % 2 == 0 else value) for name, value in found]

    monkeypatch.setattr(device, "_gradients", wrong)
    (trouble,) = device.gradient_troubles(SPEC, "cpu")

    assert trouble.severity == "error"
    assert "transformer.ln_f.weight" in trouble.message


@pytest.mark.parametrize(("available", "limit", "said"), [(False, 0, "no MPS device"), (True, 0, "recommends 0 bytes")])
def test_a_mac_without_usable_mps_is_none(monkeypatch: pytest.MonkeyPatch, available: bool, limit: int, said: str) -> None:
    """No MPS, or a virtual Mac that recommends 0 bytes: not run, with the reason."""
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: available)
    monkeypatch.setattr(torch, "mps", SimpleNamespace(recommended_max_memory=lambda: limit))

    with pytest.raises(ReadError, match=said):
        device.mps_gauge()


def test_the_gauge_of_mps_reads_torch_mps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Live, driver and limit come from torch.mps; a peak only where torch.accelerator can tell it."""

    def nothing() -> None:
        """Do nothing."""

    double = SimpleNamespace(
        recommended_max_memory=lambda: 5,
        current_allocated_memory=lambda: 3,
        driver_allocated_memory=lambda: 4,
        synchronize=nothing,
        empty_cache=nothing,
    )
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch, "mps", double)
    gauge = device.mps_gauge()

    assert (gauge.live(), gauge.driver(), gauge.recommended()) == (3, 4, 5)


@pytest.mark.skipif(not torch.backends.mps.is_available(), reason="no Apple GPU here")
def test_a_real_run_on_mps() -> None:
    """On a Mac: a tiny model trains, memory is read, gradients are the CPU's."""
    result = device.measure(SPEC, "mps", 12, silent)

    assert not result.failure
    assert result.moved


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no NVIDIA GPU here")
def test_a_real_run_on_cuda() -> None:
    """With an NVIDIA GPU: a tiny model trains and its peak is read."""
    result = device.measure(SPEC, "cuda", 12, silent)

    assert not result.failure
    assert result.largest_peak > 0
