"""How what a function gives lies in memory, as the tables say it, against torch."""

from __future__ import annotations

import pytest
import torch

from mpslint.tensors.signatures import load_signatures

MORE: dict[str, tuple[int, ...]] = {"full_like": (0,), "randint_like": (5,)}
"""What functions are given besides a tensor."""
OF_ARRAYS = ("from_numpy", "tensor", "as_tensor")
KEPT = sorted(name for name, one in load_signatures().items() if one.layout == "kept")


def test_there_are_functions_that_keep_a_layout() -> None:
    assert {"torch.zeros_like", "torch.Tensor.clone", "torch.from_numpy"} <= set(KEPT)


@pytest.mark.parametrize("name", KEPT)
def test_what_keeps_the_layout_gives_the_strides_of_its_argument(name: str) -> None:
    """A swapped tensor or array gives a swapped tensor."""
    swapped = torch.ones(3, 4).t().clone()
    owner, _, function = name.rpartition(".")
    called = getattr(torch.Tensor if owner == "torch.Tensor" else torch, function)
    made = called(swapped.numpy() if function in OF_ARRAYS else swapped, *MORE.get(function, ()))
    assert made.stride() == swapped.stride() == (1, 4)
