"""How a real GPU tells its memory, without one: a double of torch.mps says what it would say."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("torch")

import torch

from mpslint.core.finding import ReadError
from mpslint.verify.child import device


@pytest.mark.parametrize(("available", "limit", "said"), [(False, 0, "no MPS device"), (True, 0, "recommends 0 bytes")])
def test_a_mac_without_usable_mps_is_none(monkeypatch: pytest.MonkeyPatch, available: bool, limit: int, said: str) -> None:
    """No MPS, or a virtual Mac that recommends 0 bytes: not run, with the reason."""
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: available)
    monkeypatch.setattr(torch, "mps", SimpleNamespace(recommended_max_memory=lambda: limit))

    with pytest.raises(ReadError, match=said):
        device.mps_gauge()


def test_the_gauge_of_mps_reads_torch_mps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Live and driver memory come from torch.mps; a peak only where torch.accelerator can tell it."""

    def nothing() -> None:
        """Do nothing."""

    double = SimpleNamespace(
        recommended_max_memory=lambda: 5,
        current_allocated_memory=lambda: 3,
        driver_allocated_memory=lambda: 4,
        synchronize=nothing,
    )
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch, "mps", double)
    gauge = device.mps_gauge()

    assert (gauge.live(), gauge.driver()) == (3, 4)
