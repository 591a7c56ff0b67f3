"""How tensors lie in memory, against real torch."""

from __future__ import annotations

import pytest
import torch

from tests.tensors.walked import events_of

VIEWS = (
    "x.permute(1, 0)",
    "torch.permute(x, (1, 0))",
    "x.transpose(0, 1)",
    "x.swapaxes(0, 1)",
    "torch.movedim(x, 0, 1)",
    "x.t()",
    "x.T",
    "x.mT",
    "x.T.to(torch.float16)",
)
COPIES = ("x", "x + 1", "x.T.contiguous()", "x.T.reshape(-1)", "x.permute(1, 0).flatten()", "x[0]", "x.T.sum(0)", "torch.cat([x, x])")


@pytest.mark.parametrize("written", [*VIEWS, *COPIES])
def test_swapped_dimensions_are_noted_where_they_are_not_contiguous(written: str) -> None:
    """Whether the tensor was given a name, or is what the function is called with."""
    is_contiguous = eval(written, {"x": torch.ones(2, 3), "torch": torch}).is_contiguous()

    for code in (f"torch.tanh({written})", f"y = {written}\ntorch.tanh(y)"):
        events = [event for event in events_of(f"import torch\n\nx = torch.ones(2, 3)\n{code}\n") if event.kind == "swapped"]
        assert bool([event for event in events if event.of == "torch.tanh"]) is not is_contiguous
