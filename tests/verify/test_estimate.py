"""Estimates of runs for which torch keeps freed buffers of ever new sizes."""

from __future__ import annotations

import pytest

from mpslint.verify import estimate
from mpslint.verify.outcome import Composition, Fit, RunResult
from mpslint.verify.script import ScriptOptions
from mpslint.verify.spec import Lengths, RunSpec, VerifiedMac
from mpslint.verify.text import what_fits

GIB = 2**30


@pytest.mark.parametrize(
    ("torch", "lengths", "largest"),
    [("2.13", Lengths(256, 90), 4), ("2.14", Lengths(256, 90), 10), ("2.13", Lengths(256), 10)],
    ids=["buffers are kept", "torch joins them", "one shape"],
)
def test_kept_buffers_count_for_the_mac_that_is_meant(monkeypatch: pytest.MonkeyPatch, torch: str, lengths: Lengths, largest: int) -> None:
    """Halves of the batch are tried until their driver memory stays below what verify takes; of other Macs the tensors give a bound."""

    def result(spec: RunSpec, steps: object, options: ScriptOptions) -> RunResult:
        fits = tuple(Fit(memory, 12 * GIB, 16 * GIB, "too big", 10) for memory in options.sizes)
        return RunResult("", "emulated", composition=Composition(16 * GIB, "forward"), fits=fits, driver_peak=3 * GIB * spec.train_batch)

    monkeypatch.setattr(estimate, "result_of", result)
    mac = VerifiedMac(torch, 16, macos="26")
    spec = RunSpec("tiny", "causal_lm", lengths, {}, train_batch=16)
    made = estimate.estimate_spec(spec, mac)
    fits = {fit.memory_gb: fit for fit in made.fits}
    assert fits[16].largest_batch == largest
    assert fits[64].bound == ("at most " if largest == 4 else "")
    assert what_fits([made], mac).count("buffers included") == (largest == 4)
