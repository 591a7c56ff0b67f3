"""What lies on the CPU in the batches of data sets that a library reads."""

from __future__ import annotations

import mpslint

READ = """import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

model = torch.nn.Linear(784, 10).to("mps")
data = datasets.MNIST("data", transform={transform})
for x, y in DataLoader(data, batch_size=64, shuffle=True):
    loss = torch.nn.functional.cross_entropy(model({given}), {labels})
"""
OWN = "transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])"
MOVING = 'transforms.Compose([transforms.ToTensor(), transforms.Lambda(lambda x: x.to("mps"))])'


def _found(transform: str, given: str = "x", labels: str = "y") -> list[str]:
    text = READ.format(transform=transform, given=given, labels=labels)
    return [finding.message for finding in mpslint.check(text, select=["MPS576"]).findings]


def test_a_batch_that_torchvision_reads_is_on_the_cpu() -> None:
    [message] = _found(OWN)
    assert "`x` is on the CPU" in message


def test_labels_that_stay_behind_are_on_the_cpu() -> None:
    [message] = _found(OWN, given='x.to("mps")')
    assert "`y` is on the CPU" in message


def test_a_batch_that_is_moved_is_not() -> None:
    assert _found(OWN, given='x.to("mps")', labels='y.to("mps")') == []


def test_nothing_is_known_where_a_transform_of_the_program_may_move_a_sample() -> None:
    assert _found(MOVING) == []
