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


def test_each_device_has_a_constant_of_its_own() -> None:
    """Two that stand before different statements have different names: one would overwrite the other."""
    text = (
        "import torch\n\n"
        'student = torch.nn.Linear(2, 2).to("cuda:0")\n'
        'teacher = torch.nn.Linear(2, 2).to("cuda:1")\n'
        'print(student(torch.ones(2).to("cuda:0")), teacher(torch.ones(2).to("cuda:1")))\n'
    )
    fixed = mpslint.fix(text, select=["MPS501"]).text

    assert "student = torch.nn.Linear(2, 2).to(DEVICE)" in fixed
    assert "teacher = torch.nn.Linear(2, 2).to(TORCH_DEVICE)" in fixed
