"""The model of the MPS allocator: what the driver holds after a sequence of allocations."""

from __future__ import annotations

import itertools
import random

import pytest

from mpslint.verify.emulator.allocator import AllocatorModel, LateAllocator, OutOfMemoryError
from mpslint.verify.emulator.pools import Block
from mpslint.verify.platform import heap_rules, rules_on
from mpslint.verify.spec import VerifiedMac

MB = 2**20
OLD, NEW = "2.13", "2.14"


def model(version: str, low: int = 0) -> AllocatorModel:
    """Return a model for one torch."""
    return AllocatorModel(heap_rules(version, low))


def take(allocator: AllocatorModel, size: int) -> Block:
    """Allocate, and say that there is a block."""
    block = allocator.allocate(size)
    assert block is not None
    return block


@pytest.mark.parametrize(("size", "heap"), [(100, 8 * MB), (MB, 8 * MB), (2 * MB, 32 * MB), (20 * MB, 1024 * MB), (600 * MB + 5, 602 * MB)])
@pytest.mark.parametrize("version", [OLD, NEW])
def test_a_buffer_gets_a_heap_of_its_class(size: int, heap: int, version: str) -> None:
    """Small, large and extra large buffers share heaps of 8 MiB, 32 MiB and 1 GiB; bigger ones have their own,
    in steps of 2 MiB."""
    allocator = model(version)
    take(allocator, size)

    assert allocator.driver == heap


def test_old_torch_keeps_a_buffer_for_each_size() -> None:
    """Up to 2.13 freed buffers of other sizes do not serve: ever larger ones add up. From 2.14 on they are joined."""
    driver = {}
    for version in (OLD, NEW):
        allocator = model(version)
        for step in range(12):
            allocator.free(take(allocator, (100 + 40 * step) * MB))
        driver[version] = allocator.driver

    assert driver[OLD] > 2 * driver[NEW]


@pytest.mark.parametrize("version", [OLD, NEW])
def test_a_fixed_size_is_reused(version: str) -> None:
    """The same size again and again needs no more than once."""
    allocator = model(version)
    first = take(allocator, 50 * MB)
    allocator.free(first)
    before = allocator.driver
    for _ in range(20):
        allocator.free(take(allocator, 50 * MB))

    assert allocator.driver == before
    assert allocator.live == 0


@pytest.mark.parametrize("version", [OLD, NEW])
def test_empty_cache_gives_back_all_that_is_free(version: str) -> None:
    """After empty_cache only heaps with living buffers are left."""
    allocator = model(version)
    kept = take(allocator, 700 * MB)
    allocator.free(take(allocator, 900 * MB))
    allocator.empty_cache()

    assert allocator.driver == 700 * MB
    allocator.free(kept)
    allocator.empty_cache()
    assert allocator.driver == 0


@pytest.mark.parametrize("version", [OLD, NEW])
def test_random_programs_keep_the_books(version: str) -> None:
    """Whatever is allocated and freed: blocks never overlap, the driver holds at least what lives,
    and nothing is lost."""
    draw = random.Random(7)
    allocator = model(version, low=2000 * MB)
    alive: list[Block] = []
    for _ in range(1500):
        if alive and draw.random() < 0.5:
            allocator.free(alive.pop(draw.randrange(len(alive))))
        else:
            alive.append(take(allocator, int(2 ** draw.uniform(5, 29))))
        assert allocator.live <= allocator.driver
    for heap in {id(block.heap): block.heap for block in alive}.values():
        spans = sorted((block.offset, block.offset + block.size) for block in alive if block.heap is heap)
        assert all(one[1] <= two[0] for one, two in itertools.pairwise(spans))
    for block in alive:
        allocator.free(block)
    allocator.empty_cache()
    assert (allocator.live, allocator.driver) == (0, 0)


def test_pressure_makes_old_torch_collect() -> None:
    """Past the low watermark cached buffers are released before new ones are made."""
    free, pressed = model(OLD), model(OLD, low=2000 * MB)
    for allocator in (free, pressed):
        for step in range(12):
            allocator.free(take(allocator, (520 + 40 * step) * MB))

    assert pressed.driver < free.driver


def test_an_empty_tensor_needs_no_buffer() -> None:
    """A tensor of no bytes is no allocation."""
    assert model(OLD).allocate(0) is None


@pytest.mark.parametrize(("ratio", "raises"), [("0.0", False), ("0.1", True), ("", False)])
def test_a_script_sets_the_limit_before_its_first_tensor(monkeypatch: pytest.MonkeyPatch, ratio: str, raises: bool) -> None:
    """MPS reads PYTORCH_MPS_HIGH_WATERMARK_RATIO when the first buffer is made: 0.0 never raises, and the text tells the limit in force."""
    late = LateAllocator(VerifiedMac(torch=OLD, memory_gb=16))
    if ratio:
        monkeypatch.setenv("PYTORCH_MPS_HIGH_WATERMARK_RATIO", ratio)
    late.allocate(MB)
    monkeypatch.setenv("PYTORCH_MPS_HIGH_WATERMARK_RATIO", "0.01")
    if raises:
        with pytest.raises(OutOfMemoryError, match=r"max allowed: 1\.\d+ GiB"):
            late.allocate(2000 * MB)
    else:
        assert late.allocate(2000 * MB) is not None


def test_without_a_limit_nothing_raises() -> None:
    """PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 lets a run take more than the Mac has."""
    late = LateAllocator(VerifiedMac(torch=NEW, memory_gb=8))
    late.rules = rules_on(late.machine, 0.0)

    assert late.rules.high_watermark == 0
    assert rules_on(late.machine).high_watermark > 8 * 1000 * MB
