"""Calls of the tables of operators, by where what they are given and what they make lies."""

from __future__ import annotations

import pytest

import mpslint


@pytest.mark.parametrize(
    ("call", "torch", "rules"),
    [
        ('torch.sparse_coo_tensor(torch.zeros(2, 3, dtype=torch.int64), torch.ones(3), (4, 4), device="mps")', "2.8", ["MPS911"]),
        ("torch.sparse_coo_tensor(torch.zeros(2, 3, dtype=torch.int64), torch.ones(3), (4, 4))", "2.8", []),
        ('torch.sparse_coo_tensor(torch.zeros(2, 3, dtype=torch.int64), torch.ones(3), (4, 4), device="mps")', "2.9", []),
        ('torch.svd_lowrank(torch.ones(8, 8, device="mps"))', "2.11", ["MPS910"]),
        ('torch.svd_lowrank(torch.ones(8, 8, device="mps"))', "2.12", []),
        ('MultivariateNormal(torch.zeros(2, device="mps"), torch.eye(2, device="mps"))', "2.6", ["MPS910"]),
        ('MultivariateNormal(torch.zeros(2, device="mps"), scale_tril=torch.eye(2, device="mps"))', "2.6", []),
        ("MultivariateNormal(torch.zeros(2), torch.eye(2))", "2.6", []),
    ],
)
def test_a_call_is_meant_where_its_operands_or_its_result_lie_on_the_gpu(call: str, torch: str, rules: list[str]) -> None:
    """What a factory is given may lie on the CPU: `device` says where it makes it."""
    text = f"import torch\nfrom torch.distributions import MultivariateNormal\n\nmade = {call}\n"

    found = mpslint.check(text, target={"torch": torch}).findings

    assert [one.rule for one in found if one.severity == "error"] == rules
