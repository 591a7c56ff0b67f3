"""A device that the program compares with CUDA."""

from __future__ import annotations

import mpslint

ASKED = """import torch

device = "cuda"
model = torch.nn.Linear(2, 2).to(device)
x = torch.ones(2, 2)
if device == "cuda":
    x = x.{move}
model(x)
"""


def test_what_moves_only_for_cuda_keeps_its_device() -> None:
    """Inputs that `.cuda()` moves would stay on the CPU, so the device is left to the reader."""
    fixed = mpslint.fix(ASKED.format(move="cuda()"), filename="train.py").text

    assert 'device = "cuda"\n' in fixed


def test_another_use_of_the_comparison_is_no_obstacle() -> None:
    """Where the comparison moves nothing, the device is chosen."""
    fixed = mpslint.fix(ASKED.format(move="contiguous()").replace("ones(2, 2)", "ones(2, 2, device=device)"), filename="train.py").text

    assert 'device = "cuda" if torch.cuda.is_available() else "mps"' in fixed
