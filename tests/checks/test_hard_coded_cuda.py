"""Which use of CUDA a finding names."""

from __future__ import annotations

import pytest

import mpslint
from mpslint.engine import check
from mpslint.source.reader import read
from mpslint.target.target import default_target

LOADED_IN_A_TRY = """
import argparse
import sys

import torch
from transformers import CLIPTextModel

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda")
args = parser.parse_args()
try:
    encoder = CLIPTextModel.from_pretrained("base").to(args.device, dtype=torch.float32)
except Exception as error:
    print(f"Error loading base models: {error}")
    sys.exit(1)
generator = torch.Generator(device=args.device).manual_seed(1)
"""


def test_a_use_that_a_handler_catches_is_named_before_one_that_may_not_be_reached() -> None:
    """The program ends in the handler, so `torch.Generator` raises nothing."""
    checked = check(read("train.py", LOADED_IN_A_TRY.encode()), default_target())

    messages = [finding.message for finding in checked.findings if finding.rule == "MPS502"]

    assert len(messages) == 1
    assert "`.to(args.device)` raises AssertionError" in messages[0]


@pytest.mark.parametrize(("guard", "safety"), [("", "manual"), ("if args.distributed:\n    ", "safe")])
def test_a_run_that_needs_nccl_is_no_matter_of_devices(guard: str, safety: str) -> None:
    """Where it joins the group whatever it is told, other devices don't make it run on a Mac."""
    text = (
        f'import torch\nimport torch.distributed as dist\n\n{guard}dist.init_process_group("nccl")\nmodel = torch.nn.Linear(2, 2).cuda()\n'
    )
    (found,) = mpslint.check(text, select=["MPS501"]).findings

    assert found.safety == safety
