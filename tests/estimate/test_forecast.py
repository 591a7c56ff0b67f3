"""What is proposed to change: only where it helps, with its effect."""

from __future__ import annotations

import dataclasses

from mpslint.estimate.forecast import advice
from mpslint.estimate.step import Fallback, Operators, StepWork
from mpslint.estimate.timing import ChipAndMemory, named_chips

MATMUL = Operators("matmul", "matmul", "float32", 1e12, 1e8, 3)
SMALL = Operators("elementwise", "memory", "float32", 0, 4096, 3000)
UPDATE = Operators("special", "optimizer", "float32", 0, 1e8, 200)
SCORES = Operators("attention", "attention", "float32", 5e11, 1e8, 3)
M4 = [ChipAndMemory(named_chips("M4")[1], 32)]
TORCH = {"torch": (2, 13)}


def said(*operators: Operators, macs: list[ChipAndMemory] = M4, **values: float) -> list[str]:
    """Return the advice for a step."""
    work = dataclasses.replace(StepWork(operators, 16, 1024), **values)  # type: ignore[arg-type]
    return list(advice(work, macs, TORCH))


def test_a_step_of_large_matmuls_has_nothing_to_change() -> None:
    """Where nothing would help much, nothing is said."""
    assert said(MATMUL) == []
    assert said(MATMUL, SMALL, UPDATE, macs=[]) == []


def test_padding_is_proposed_where_it_saves_graphs() -> None:
    """The graphs with and without are named; a run that compiles as many is left alone."""
    assert said(MATMUL, graphs_planned=18229, graphs_padded=1400, padded_to=64) == [
        "Pad to a multiple of 64: the run compiles 18,229 graphs as it is and 1,400 then. Each new one stalls a step, all of them about 9.5 min."
    ]
    assert said(MATMUL, graphs_planned=200, graphs_padded=190, padded_to=64) == []


def test_a_larger_batch_is_proposed_where_launches_dominate() -> None:
    """3000 operators of 4 KB are bound by launches, and twice as many samples cost nearly the same."""
    (line,) = said(SMALL)

    assert line.startswith("Launching 3,000 operators takes 9")
    assert "about 2.0x the samples a second" in line


def test_a_wait_is_named_on_short_steps_only() -> None:
    """`.item()` costs the overlap of launches and work, which a long step doesn't notice."""
    assert any("(waits a step: 1)" in line for line in said(SMALL, waits=1))
    assert said(MATMUL, waits=1) == []


def test_attention_and_optimizer_are_named_by_their_share() -> None:
    """A fused optimizer is proposed where the update is written out, shorter samples where score matrices dominate."""
    lines = said(SCORES, UPDATE)

    assert [line.split()[0] for line in lines] == ["Attention", "The"]
    assert "fused" in lines[1]


def test_half_precision_is_for_the_m5() -> None:
    """The gain is told where a Mac of the list has one, next to one that hasn't."""
    m5 = ChipAndMemory(named_chips("M5")[1], 32)
    (line,) = said(MATMUL, macs=[*M4, m5])

    assert "faster on M5 (10 GPU cores)" in line
    assert "on M4 (10 GPU cores)" in line


def test_falling_back_is_named() -> None:
    """Each operator of the CPU with how often, the bytes there and back, and what that takes at least: two waits and the copies."""
    one = Fallback("_linalg_svd", 2, 50e6)
    (line,) = advice(dataclasses.replace(StepWork((MATMUL,), 16), fallbacks=(one,)), M4, TORCH)

    assert line.startswith(
        "_linalg_svd runs on the CPU (times a step: 2): 100 MB are copied there and back, at least 2.5 ms of a step on M4"
    )


def test_only_the_operators_of_the_cpu_that_copy_most_are_named() -> None:
    """Three of them."""
    many = tuple(Fallback(f"operator{number}", 1, 1e6) for number in range(5))

    assert len(list(advice(dataclasses.replace(StepWork((MATMUL,), 16), fallbacks=many), M4, TORCH))) == 3
