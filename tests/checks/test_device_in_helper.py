"""A device that a library function chooses for what it makes itself."""

from __future__ import annotations

import pytest

import mpslint

HELPER = """import torch

def mask(labels):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    {line}
    return {result}
"""


@pytest.mark.parametrize(
    ("line", "result", "is_fixed"),
    [
        ("new = torch.eye(len(labels)).to(device)", "new & labels", False),
        ("new = torch.eye(len(labels), device=device)", "new & labels", False),
        ("labels = labels.to(device)", "Net().to(device)(labels)", True),
        ("new = Net().to(device)", "new(labels.to(device))", True),
    ],
)
def test_what_is_given_decides(line: str, result: str, is_fixed: bool) -> None:
    """A new tensor that meets what callers give isn't moved by a fix; a function that moves what it is given is."""
    fixed = mpslint.fix(HELPER.format(line=line, result=result), filename="losses.py").text

    assert ("mps" in fixed) is is_fixed
