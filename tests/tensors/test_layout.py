"""How what a function gives lies in memory, as the tables say it, against torch."""

from __future__ import annotations

import pytest
import torch

import mpslint
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


VIEWS = [
    "torch.ones(4, 8).t()",
    "torch.ones(4, 8).t().t()",
    "torch.ones(1, 8).t()",
    "torch.ones(8).t()",
    "torch.ones(4, 4).T",
    "torch.ones(2, 3, 4).permute(0, 1, 2)",
    "torch.ones(2, 3, 4).permute(2, 0, 1)",
    "torch.ones(2, 1, 4).transpose(0, 1)",
    "torch.ones(2, 3, 4).transpose(0, 1).contiguous()",
    "torch.ones(4, 8)[:, 2]",
    "torch.ones(4, 8)[:, None]",
    "torch.ones(4, 8)[:, None, 3]",
    "torch.ones(4, 8)[:, ...]",
    "torch.ones(4, 8)[:, 0:]",
    "torch.ones(4, 8)[:, 2:]",
    "torch.ones(4, 8)[::1]",
    "torch.ones(4, 8)[::2]",
]


@pytest.mark.parametrize("view", VIEWS)
def test_what_is_told_not_to_be_contiguous_is_not(view: str) -> None:
    """Swaps that undo each other, and those of dimensions of length 1, leave a tensor in one piece."""
    code = f"import torch\n\nx = {view.replace(')', ', device=' + repr('mps') + ')', 1)}\nx.masked_fill_(x > 0, 0.0)\n"
    found = mpslint.check(code, target={"torch": "2.3.1", "macos": "14.0"}, select=["MPS929"]).findings

    made = eval(view, {"torch": torch})
    assert bool(found) is not made.is_contiguous()
