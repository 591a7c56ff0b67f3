"""Lightning's choice of the CPU where there is no CUDA, which ends the run where devices are given as a list."""

from __future__ import annotations

import pytest

from mpslint.api import check

TEXT = """\
import lightning as L
import torch

trainer = L.Trainer(accelerator="gpu" if torch.cuda.is_available() else "cpu", devices={devices})
trainer.fit(model, loader)
"""


@pytest.mark.parametrize(
    ("devices", "severity"),
    [("1", "warning"), ('"auto"', "warning"), ("[0]", "error"), ("[0, 1]", "error"), ("-1", "error"), ('"0,1"', "error")],
)
def test_a_list_of_devices_raises_on_the_cpu(devices: str, severity: str) -> None:
    found = check(TEXT.format(devices=devices), select=["MPS529"]).findings

    assert [one.severity for one in found] == [severity]
