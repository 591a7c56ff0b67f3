"""A Trainer calls the steps of its model: what they compute in other files runs where the Trainer puts the model."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from mpslint.cli import group

LAYER = """import torch


class Graph(torch.nn.Module):
    def forward(self, edges, score):
        return torch.sparse_coo_tensor(edges, score)
"""
TRAIN = """import pytorch_lightning as pl
from layer import Graph


class Learner(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = Graph()

    def {step}(self, batch, index):
        return self.layer(*batch).sum()


if __name__ == "__main__":
    trainer = pl.Trainer(accelerator="{accelerator}", devices=1)
    trainer.{method}(Learner())
"""


@pytest.mark.parametrize(
    ("step", "method", "accelerator", "is_found"),
    [
        ("training_step", "fit", "mps", True),
        ("validation_step", "validate", "auto", True),
        ("test_step", "test", "mps", True),
        ("training_step", "fit", "cpu", False),
        ("test_step", "fit", "mps", False),
    ],
)
def test_a_module_of_another_file_is_judged(tmp_path: Path, step: str, method: str, accelerator: str, is_found: bool) -> None:
    """Only what the Trainer calls, and only where it trains on the Mac's GPU."""
    (tmp_path / "layer.py").write_text(LAYER)
    (tmp_path / "train.py").write_text(TRAIN.format(step=step, method=method, accelerator=accelerator))

    done = CliRunner().invoke(group, ["check", str(tmp_path), "--isolated", "--torch", "2.6", "--select", "MPS911"])

    assert ("layer.py" in done.output and "MPS911" in done.output) is is_found, done.output
