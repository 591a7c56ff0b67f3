"""The emulator: keys, what is alive, operators that MPS lacks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from mpslint.verify.emulator.keys import GraphCache, describe
from mpslint.verify.emulator.memory import LiveMemory
from mpslint.verify.emulator.operators import Coverage
from mpslint.verify.emulator.watch import Watch
from mpslint.verify.platform import graph_operators

# Libraries beside torch deprecate each other; that is not ours to fix.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


def test_floats_are_no_part_of_a_key() -> None:
    """AdamW's step size changes at every step and compiles nothing new; a shape or a dtype does."""
    tensor = torch.ones(2, 3, device="meta")

    assert describe("mul_", (tensor, 0.1), {}) == describe("mul_", (tensor, 0.2), {})
    assert describe("mul_", (tensor, 1), {}) != describe("mul_", (tensor, 2), {})
    assert describe("mul_", (tensor.half(), 0.1), {}) != describe("mul_", (tensor, 0.1), {})


def test_casts_keep_a_graph_only_in_old_torch() -> None:
    """A copy with another dtype compiled a graph up to 2.12; a plain copy never did."""
    tensor = torch.ones(2, device="meta")
    old, new = (GraphCache(graph_operators(version)) for version in ("2.12", "2.13"))

    assert old.is_graph("_to_copy", (tensor,), {"dtype": torch.float16})
    assert not old.is_graph("_to_copy", (tensor,), {"dtype": torch.float32})
    assert not new.is_graph("_to_copy", (tensor,), {"dtype": torch.float16})


def test_memory_counts_what_is_alive() -> None:
    """A storage counts once, however many tensors look at it, until the last one goes."""
    memory = LiveMemory()
    with Watch(memory, GraphCache(frozenset())):
        kept = torch.ones(1000, device="meta") + 1
        view = kept.view(10, 100)
        assert memory.live == 4000
        del kept
        assert memory.live == 4000
        del view
    assert memory.live == 0
    assert memory.peak == 8000


def test_gradients_are_summed_in_place_as_without_a_mode() -> None:
    """Two gradients of one tensor need no third buffer, as in a run that nobody watches."""
    memory = LiveMemory()
    weight = torch.ones(1000, device="meta", requires_grad=True)
    memory.see(weight)
    with Watch(memory, GraphCache(frozenset())):
        doubled = weight * 2
        loss = ((doubled * 3).exp() + (doubled * 4).exp()).sum()
        memory.peak = memory.live
        loss.backward()  # type: ignore[no-untyped-call]

    assert memory.peak <= 4 * 7 * 1000 + 8


@pytest.mark.parametrize(
    ("version", "run", "name"),
    [
        ("2.13", lambda: nn.AdaptiveMaxPool3d(2)(torch.ones(1, 1, 4, 4, 4, device="meta")), "adaptive_max_pool3d"),
        ("2.13", lambda: nn.AdaptiveAvgPool2d(7)(torch.ones(1, 1, 32, 32, device="meta")),
        "adaptive-pool-not-divisible"),
        ("2.13", lambda: torch.ones(2, device="meta", dtype=torch.float64) + 1, "float64"),
        ("2.13", lambda: torch.ones(2, device="meta", dtype=torch.complex128) + 1, "complex128"),
        ("2.2", lambda: torch.ones(2, device="meta", dtype=torch.bfloat16) + 1, "bfloat16"),
        ("2.13", lambda: torch.bmm(*2 * [torch.ones(64, 4200, 4200, device="meta")]), "tensor-over-4-gib"),
        ("2.13", lambda: torch.ones(64, 40000, device="meta") @ torch.ones(40000, 64, device="meta"),
        "linear-many-rows"),
        ("2.13", lambda: nn.Embedding(8, 4, max_norm=1.0, device="meta")(torch.ones(2, device="meta").long()),
        "embedding_renorm_"),
    ],
)  # fmt: skip
def test_what_mps_refuses_is_reported(version: str, run: object, name: str) -> None:
    """Missing kernels, refused cases and CPU fallbacks, each by its name."""
    coverage = Coverage(version)
    with Watch(LiveMemory(), GraphCache(frozenset()), coverage.see):
        run()  # type: ignore[operator]

    assert name in {trouble.name for trouble in coverage.troubles.values()}


@pytest.mark.parametrize(
    ("version", "run"),
    [
        ("2.15", lambda: torch.ones(2, device="meta", dtype=torch.bfloat16) + 1),
        ("2.13", lambda: nn.AdaptiveAvgPool2d(8)(torch.ones(1, 1, 32, 32, device="meta"))),
        ("2.14", lambda: torch.ones(64, 40000, device="meta") @ torch.ones(40000, 64, device="meta")),
        ("2.13", lambda: nn.GroupNorm(2, 4, device="meta")(torch.ones(1, 4, 8, 8, device="meta"))),
    ],
)
def test_what_mps_takes_is_silent(version: str, run: object) -> None:
    """The same calls in a version or a shape that works."""
    coverage = Coverage(version)
    with Watch(LiveMemory(), GraphCache(frozenset()), coverage.see):
        run()  # type: ignore[operator]

    assert not coverage.troubles


EVALUATIONS = {
    "values": lambda x: (x.mean().item(), float(x.sum()), int(x.argmax()), bool((x == x).all())),
    "attention": lambda x: nn.functional.scaled_dot_product_attention(*3 * [x.view(2, 4, 64, 16)]),
    "layers": lambda x: nn.functional.cross_entropy(nn.Linear(16, 8, device="meta")(x.view(-1, 16)), torch.ones(512, device="meta").long()),
    "recurrent": lambda x: nn.GRU(16, 8, device="meta")(x.view(2, -1, 16)),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x.view(64, -1), x.view(64, -1)),
    "eigenvalues": lambda x: torch.linalg.eigvals(x.view(2, 64, 64)),
    "float64": lambda x: x.to(torch.float64).mean(),
}


@pytest.mark.parametrize("evaluation", EVALUATIONS.values(), ids=list(EVALUATIONS))
def test_inference_mode_shows_what_no_grad_shows(evaluation: Callable[[torch.Tensor], object]) -> None:
    """The same peak, graphs, operators and troubles: without autograd a mode gets composite operators whole."""
    seen = []
    for context in (torch.no_grad, torch.inference_mode):
        memory, coverage, keys = LiveMemory(), Coverage("2.13"), GraphCache(graph_operators("2.13"))
        with Watch(memory, keys, coverage.see), context():
            evaluation(torch.empty(8192, device="meta") + 1)
        seen.append((memory.peak, sorted({trouble.name for trouble in coverage.troubles.values()}), keys.all_keys, keys.graph_keys))

    assert seen[0] == seen[1]
