"""Models that only a test for CUDA moves, whatever they are called."""

from __future__ import annotations

import pytest

import mpslint

MOVED = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)


class Loss(nn.Module):
    def forward(self, x):
        return x.mean()


class Deep(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.Sequential(*blocks)


G_AB, measure, row, deep = Net(), Loss(), torch.zeros(2), Deep(load("blocks"))
if torch.cuda.is_available():
    {name}.cuda()
    {name} = {name}.cuda()
"""


@pytest.mark.parametrize(("name", "count"), [("G_AB", 1), ("measure", 0), ("row", 0), ("deep", 1)])
def test_a_model_is_what_has_weights(name: str, count: int) -> None:
    """A loss without any, or a tensor, is none."""
    found = mpslint.check(MOVED.format(name=name), select=["MPS527"]).findings

    assert len(found) == count
