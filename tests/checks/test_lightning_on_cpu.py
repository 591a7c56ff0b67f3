"""Lightning's choice of the CPU where there is no CUDA, which ends the run where devices are given as a list."""

from __future__ import annotations

import pytest

from mpslint.api import check, fix

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


USED = """\
import lightning as L
import torch

accelerator = "cuda" if torch.cuda.is_available() else "cpu"
trainer = L.Trainer(accelerator=accelerator, devices=1)
trainer.fit(model, loader)
{use}
"""


@pytest.mark.parametrize(
    ("use", "rule", "fixed"),
    [("", "MPS529", 'accelerator = "auto"'), ("x = torch.zeros(3).to(accelerator)", "MPS503", 'else "mps" if torch.backends.mps')],
)
def test_a_choice_that_is_also_a_device_stays_one(use: str, rule: str, fixed: str) -> None:
    """`.to("auto")` raises on every machine, and Lightning takes "mps" as well: one finding, whose fix holds for both uses."""
    found = check(USED.format(use=use), select=["MPS503", "MPS529"])

    assert [one.rule for one in found.findings] == [rule]
    assert fixed in fix(USED.format(use=use), select=["MPS503", "MPS529"]).text


@pytest.mark.parametrize("method", ["fit", "validate", "test", "predict"])
def test_what_lightning_runs_it_moves_itself(method: str) -> None:
    """Nobody has to move the model there."""
    text = f"""\
import lightning as L
import torch

class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

trainer = L.Trainer(accelerator="gpu" if torch.cuda.is_available() else "cpu", devices=1)
trainer.{method}(Net(), loader)
"""
    assert 'accelerator="auto"' in fix(text, select=["MPS529"]).text
