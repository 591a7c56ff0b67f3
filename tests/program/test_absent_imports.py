"""Imports of packages that no Mac has end the branch they stand in."""

from __future__ import annotations

import pytest

from mpslint.settings.evidence import gather_evidence
from mpslint.source.reader import read
from mpslint.target.target import default_target

BRANCH = """import torch

def load(weights):
    if weights.endswith(".engine"):
{body}
    return torch.ones(1)

load(weights)
"""
PLAIN = """        import tensorrt as trt
        torch.zeros(1)"""
CAUGHT = """        try:
            from tensorrt import Logger
            torch.zeros(1)
        except ImportError:
            pass"""
PRESENT = """        import numpy
        torch.zeros(1)"""


@pytest.mark.parametrize(("body", "expected"), [(PLAIN, False), (CAUGHT, True), (PRESENT, True)])
def test_what_follows_the_import(body: str, expected: bool) -> None:
    """What follows such an import is not reached, unless the import's error is caught; the code around the branch is."""
    document = read("load.py", BRANCH.format(body=body).encode())
    evidence = gather_evidence(document, document.python, default_target())

    assert ("torch.zeros" in evidence.calls_of_name) is expected
    assert "torch.ones" in evidence.calls_of_name
