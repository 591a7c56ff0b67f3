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
    "torch.ones(4, 4, 4).permute(0, 1, 2)",
    "torch.ones(4, 4, 4).permute(0, 2, 1)",
    "torch.ones(4, 4, 4).permute(0, -2, -1)",
    "torch.ones(1, 4, 4).transpose(0, 1)",
    "torch.ones(4, 4).transpose(1, -1)",
    "torch.ones(4, 4).swapaxes(0, -1)",
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
    "torch.ones(4, 8)[:, :8]",
    "torch.ones(4, 8)[:, :4]",
    "torch.ones(4, 8)[:, -8:]",
    "torch.ones(4, 8)[:, : torch.ones(4, 8).shape[1]]",
    "torch.ones(4, 1)[:, 0]",
    "torch.ones(1, 8)[:, 2:]",
    "torch.ones(4, 8)[1:2, 2:]",
    "torch.ones(4, 8)[1:3]",
    "torch.ones(2, 4, 8)[0, :, 2:]",
    "torch.ones(2, 4, 8)[..., 2]",
    "torch.ones(4, 8)[:, [0, 2]]",
    "torch.ones(1, 8)[::2]",
]
BEHIND = [
    "[1:]",
    "[0:]",
    "[-4:]",
    "[-2:]",
    "[n:]",
    "[n]",
    "[n + 1:]",
    "[:, 2:]",
    "[:, n:]",
    "[0, 0]",
    "[:2]",
    "[-4]",
    "[None, 1]",
    "[..., 3]",
    "[..., 0]",
    "[[1, 2]]",
]
"""Indices of a tensor of 4 by 8, where n is 0."""


@pytest.mark.parametrize("view", VIEWS)
def test_what_is_told_not_to_be_contiguous_is_not(view: str) -> None:
    """Swaps that undo each other, and those of dimensions of length 1, leave a tensor in one piece."""
    code = f"import torch\n\nx = {view.replace(')', ', device=' + repr('mps') + ')', 1)}\nx.masked_fill_(x > 0, 0.0)\n"
    found = mpslint.check(code, target={"torch": "2.3.1", "macos": "14.0"}, select=["MPS929"]).findings

    made = eval(view, {"torch": torch})
    assert bool(found) is not made.is_contiguous()


@pytest.mark.parametrize("index", BEHIND)
def test_what_is_told_to_begin_behind_the_first_number_does(index: str) -> None:
    """A slice may begin at the first, whatever its bound is called; a list makes a copy."""
    layer = "torch.nn.functional.layer_norm(x, x.shape[-1:])"
    code = f"import torch\n\nn = 0\nx = torch.ones(4, 8, device='mps'){index}\ny = {layer}\n"
    found = mpslint.check(code, target={"torch": "2.4.1", "macos": "14.0"}, select=["MPS929"]).findings

    made = eval(f"torch.ones(4, 8){index}", {"torch": torch, "n": 0})
    assert bool(found) is (made.storage_offset() > 0)
