"""A length that a module finds once is that of every batch."""

from __future__ import annotations

import pytest

from mpslint.api import check

TEXT = """\
import torch
from torch.utils.data import DataLoader

{above}
def collate(rows):
    {inside}out = torch.zeros(len(rows), longest, 8)
    for number, row in enumerate(rows):
        out[number, : len(row)] = row
    return out

model = torch.nn.LSTM(8, 8).to("mps")
optimizer = torch.optim.Adam(model.parameters())
for batch in DataLoader(data, 2, collate_fn=collate):
    model(batch.to("mps"))[0].sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("above", "inside", "rules"),
    [("longest = max(len(row) for row in data)\n", "", []), ("", "longest = max(len(row) for row in rows)\n    ", ["MPS302"])],
    ids=["found once", "found in each batch"],
)
def test_a_length_that_is_found_once_is_no_change_of_shapes(above: str, inside: str, rules: list[str]) -> None:
    """Only what a batch is filled up to by its own rows differs from step to step."""
    assert [one.rule for one in check(TEXT.format(above=above, inside=inside), select=["MPS302"]).findings] == rules
