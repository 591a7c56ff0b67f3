"""Which loader a training loop runs through."""

from __future__ import annotations

import pytest

from tests.settings.test_plan import evidence_of

HEAD = """
import torch
from torch.utils.data import DataLoader
from accelerate import Accelerator
import lightning as L

accelerator, fabric = Accelerator(), L.Fabric()
model = torch.nn.Linear(4, 4)
opt = torch.optim.Adam(model.parameters())
train = DataLoader(first, batch_size=64, shuffle=True)
test = DataLoader(second, batch_size=8)
"""
LOOP = """
for batch in train:
    accelerator.backward(model(batch).sum())
"""


@pytest.mark.parametrize(
    ("made", "size"),
    [
        ("model, opt, train, test = accelerator.prepare(model, opt, train, test)", 64),
        ("model, opt, test, train = accelerator.prepare(model, opt, test, train)", 64),
        ("train, test, model = accelerator.prepare(train, test, model)", 64),
        ("prepared = accelerator.prepare(model, opt, train, test)\ntrain = prepared[2]", 64),
        ("model, opt, test, train = accelerator.prepare(model, opt, train, test)", 8),  # by the wrong names: what runs is what counts
        ("model, opt, train = accelerator.prepare(model, opt, train)\ntest = accelerator.prepare(test)", 64),
        ("train = accelerator.prepare_data_loader(data_loader=train)", 64),
        ("def prepared(acc, *given):\n    return acc.prepare(*given)\ntrain, test = prepared(accelerator, train, test)", 64),
        ("model, opt = fabric.setup(model, opt)\ntrain, test = fabric.setup_dataloaders(train, test)", 64),
        ("from other import prepare\nmodel, train, test = prepare(model, train, test)", None),
        ("from other import prepare\nmodel, train = prepare(model, train)", 64),
    ],
)
def test_the_loop_trains_on_the_batches_of_its_own_loader(made: str, size: int | None) -> None:
    """`prepare` gives back what it is given, in order; what another function makes of two loaders may be either."""
    (plan,) = (one for one in evidence_of(HEAD + made + LOOP).plans if one.kind == "loop")
    assert plan.constant("batch.train") == size
