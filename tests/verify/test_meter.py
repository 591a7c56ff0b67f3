"""What a step does, counted on the emulator, against what can be worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mpslint.verify.emulator.keys import GraphCache
from mpslint.verify.emulator.memory import LiveMemory
from mpslint.verify.emulator.meter import Meter
from mpslint.verify.emulator.watch import Watch
from mpslint.verify.estimate import work_of
from mpslint.verify.spec import Lengths, RunSpec, VerifiedMac, quantiles


def metered(run: object) -> Meter:
    """Return what a meter saw of a function on meta tensors."""
    watch = Watch(LiveMemory(), GraphCache(frozenset()))
    watch.meter = Meter()
    with watch, torch.device("meta"):
        run()  # type: ignore[operator]
    return watch.meter


def test_a_linear_layer_is_two_flop_a_weight_and_sample() -> None:
    """Forward and backward of a linear layer are three matmuls of the same size."""
    layer = torch.nn.Linear(256, 512, bias=False, device="meta")
    meter = metered(lambda: layer(torch.empty(64, 256, requires_grad=True)).sum().backward())

    assert sum(one.flop * one.count for one in meter.operators()) == 3 * 2 * 64 * 256 * 512


def test_an_addition_moves_three_tensors() -> None:
    """An elementwise operator reads its inputs and writes its result; what is repeated is read once."""
    meter = metered(lambda: torch.empty(1000) + torch.empty(1).expand(1000))

    assert [(one.kind, one.moved) for one in meter.operators()] == [("elementwise", 2 * 4000 + 4)]


def test_a_depthwise_convolution_is_told_apart() -> None:
    """A convolution with groups is another kind: it's far slower than its arithmetic says."""
    layer = torch.nn.Conv2d(32, 32, 3, groups=32, device="meta")
    (one,) = metered(lambda: layer(torch.empty(1, 32, 10, 10))).operators()

    assert one.kind == "depthwise"
    assert one.flop == 2 * 32 * 9 * 64


def test_a_wait_is_no_operator() -> None:
    """`.item()` is counted as a wait."""
    meter = metered(lambda: torch.empty(1).sum().item())

    assert meter.waits == 1


@pytest.mark.parametrize("precision", ["no", "fp16"])
def test_the_step_of_a_small_model(precision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of a tiny BERT has its matmuls, its attention and its optimizer, in the dtype that it runs in."""
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path))
    config = {"model_type": "bert", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128}
    spec = RunSpec("tiny", "sequence_classification", Lengths(32), config=config, train_batch=4, precision=precision, steps=40)  # type: ignore[arg-type]
    work = work_of(spec, VerifiedMac(torch="2.13", transformers="5.0", accelerate="1.12", macos="26"))

    parts = {one.part for one in work.operators}
    matmuls = {one.dtype for one in work.operators if one.kind == "matmul" and one.part == "matmul" and one.flop > 1e5}
    assert {"matmul", "attention", "memory", "optimizer"} <= parts
    assert matmuls == {"float32" if precision == "no" else "float16"}
    assert (work.samples, work.tokens) == (4, 128)
    assert 0 < work.graphs_first == work.graphs_planned


def test_shapes_stand_for_equal_parts() -> None:
    """Of many shapes those in the middle of equal parts are recorded; of one shape that one."""
    shapes: list[tuple[int, ...]] = [(4, length) for length in range(1, 101)]

    assert quantiles(shapes, 4) == [(4, 13), (4, 38), (4, 63), (4, 88)]
    assert quantiles([(4, 8)] * 5, 4) == [(4, 8)]
