"""A model of the MPS allocator: which Metal heaps a sequence of allocations leads to. No torch needed.

Up to torch 2.13 a freed buffer is kept whole and reused only for a similar size;
from 2.14 freed blocks are split and joined again.
"""

from __future__ import annotations

import bisect
import contextlib
import os

from mpslint.diagnose.sizes import format_bytes
from mpslint.verify.emulator.pools import APART, Block, Heap, JoinedPool, Pool
from mpslint.verify.platform import HeapRules, rules_on
from mpslint.verify.spec import VerifiedMac


class OutOfMemoryError(RuntimeError):
    """What torch raises past the high watermark; its text is the one that a Mac prints."""

    def __init__(self, live: int, driver: int, high: int, size: int) -> None:
        super().__init__(
            f"MPS backend out of memory (MPS allocated: {format_bytes(live)}, other allocations: {format_bytes(driver - live)}, "
            f"max allowed: {format_bytes(high)}). Tried to allocate {format_bytes(size)} on private pool."
        )


class AllocatorModel:
    """`driver` is what torch.mps.driver_allocated_memory() would say, by the model; `live` the blocks that tensors lie in."""

    def __init__(self, rules: HeapRules) -> None:
        self.rules = rules
        self.driver = 0
        self.live = 0
        self.peak = 0
        self.retained = 0
        """What compiled graphs keep beside the heaps; it is part of `driver`."""
        self._count = 0
        self._small, self._large = Pool(), Pool()
        self._joined_small, self._joined_large = JoinedPool(), JoinedPool(next=APART)

    def allocate(self, size: int) -> Block | None:
        """Return the block that a tensor of `size` bytes gets; a tensor of no bytes gets none.

        Raises OutOfMemoryError where torch does: past the high watermark, with every cached buffer released.
        """
        if size <= 0:
            return None
        rules = self.rules
        unit = rules.page if size > rules.page else rules.alignment
        size = -(-size // unit) * unit
        is_small = size <= rules.small_limit
        if rules.coalesces:
            block = self._joined(self._joined_small if is_small else self._joined_large, size)
        else:
            block = self._whole(self._small if is_small else self._large, size)
        self.live += block.size
        if self.driver > self.peak:
            self.peak = self.driver
        return block

    def free(self, block: Block) -> None:
        """Give a tensor's block back to the cache."""
        self.live -= block.size
        is_small = block.size <= self.rules.small_limit
        if self.rules.coalesces:
            (self._joined_small if is_small else self._joined_large).give(block.offset, block.size)
        else:
            (self._small if is_small else self._large).put(block)

    def retain(self, size: int) -> None:
        """Count memory that a compiled graph keeps: it passes no heap, but presses on all of them."""
        self.retained += size
        self.driver += size
        self.peak = max(self.peak, self.driver)

    def release_graphs(self) -> None:
        """Give back what compiled graphs kept."""
        self.driver -= self.retained
        self.retained = 0

    def empty_cache(self) -> None:
        """Release every cached buffer, and every heap that is empty then."""
        self.driver -= self._joined_small.release() + self._joined_large.release()
        for pool in (self._small, self._large):
            while pool.cached:
                self._release(pool, pool.pop(len(pool.cached) - 1))
            for heap in [heap for heap in pool.heaps.values() if not heap.buffers]:
                self._drop(pool, heap)

    def _whole(self, pool: Pool, size: int) -> Block:
        """Allocate as torch up to 2.13: reuse a cached buffer that is not much too big, else make a new one."""
        pressure = self._is_above(self.rules.low_watermark, size)
        place = bisect.bisect_left(pool.sizes, size)
        if place < len(pool.sizes):
            if pool.sizes[place] <= size + self.rules.oversize:
                return pool.pop(place)
            if pool.tightest(size) is None:
                self._release(pool, pool.pop(place))
                pressure = False
        if pressure:
            self._collect(pool, size)
        return self._new(pool, size, pressure)

    def _joined(self, pool: JoinedPool, size: int) -> Block:
        """Allocate as torch from 2.14 on: the smallest free extent of any heap, split as needed."""
        address = pool.take(size)
        if address < 0:
            is_pressed = self._is_above(self.rules.low_watermark, size)
            self._make_room(size)
            heap, _ = self._heap_for(size, is_pressed)
            pool.grow(heap)
            self.driver += heap
            address = pool.take(size)
        return Block(None, address, size)

    def _new(self, pool: Pool, size: int, pressure: bool) -> Block:
        if self._is_above(self.rules.high_watermark, size):
            self._collect(pool, size)
        self._make_room(size)
        heap = pool.tightest(size)
        if heap is None:
            self._count += 1
            heap = Heap(self._count, *self._heap_for(size, pressure))
            pool.add(heap)
            self.driver += heap.size
            if not heap.is_shared:
                size = heap.size
        return Block(heap, pool.take(heap, size), size)

    def _is_above(self, watermark: int, size: int) -> bool:
        """Return whether so many bytes more would pass a watermark, where there is one."""
        return 0 < watermark < self.driver + size

    def _make_room(self, size: int) -> None:
        """Keep below the high watermark: release the whole cache, then raise."""
        if self._is_above(self.rules.high_watermark, size):
            self.empty_cache()
        if self._is_above(self.rules.high_watermark, size):
            raise OutOfMemoryError(self.live, self.driver, self.rules.high_watermark, size)

    def _heap_for(self, size: int, pressure: bool) -> tuple[int, bool]:
        """Return the size of the heap that a buffer gets where none has room for it, and whether others share it."""
        rules = self.rules
        if size <= rules.small_limit:
            return rules.small_heap, True
        if size < rules.large_limit:
            return rules.large_heap, True
        if size < rules.extra_large_heap // 2 and not pressure:
            return rules.extra_large_heap, True
        return -(-size // rules.round_large) * rules.round_large, False

    def _collect(self, pool: Pool, size: int) -> None:
        """Release cached buffers, biggest first, until as much is free as is asked for or nothing is left."""
        freed = 0
        while pool.cached and freed < size:
            block = pool.pop(len(pool.cached) - 1)
            freed += block.size
            self._release(pool, block)

    def _release(self, pool: Pool, block: Block) -> None:
        pool.give(block)
        assert block.heap is not None
        if not block.heap.buffers:
            self._drop(pool, block.heap)

    def _drop(self, pool: Pool, heap: Heap) -> None:
        pool.drop(heap)
        self.driver -= heap.size


WATERMARK = "PYTORCH_MPS_HIGH_WATERMARK_RATIO"


class LateAllocator(AllocatorModel):
    """The allocator as the code sets it up: MPS reads its limit from the environment when the first buffer is made."""

    def __init__(self, machine: VerifiedMac) -> None:
        super().__init__(rules_on(machine))
        self.machine, self._is_started = machine, False

    def allocate(self, size: int) -> Block | None:
        """Return the block of a tensor, the first one by what the environment says now."""
        self._start()
        self.allocate = super().allocate  # type: ignore[method-assign]
        return super().allocate(size)

    def limit(self, fraction: float) -> None:
        """Raise past so many times the recommended memory from now on, as `set_per_process_memory_fraction()` does; 0 is no limit."""
        self._start()
        self._set_ratio(fraction)

    def _start(self) -> None:
        if not self._is_started:
            self._is_started = True
            with contextlib.suppress(KeyError, ValueError):
                self._set_ratio(float(os.environ[WATERMARK]))

    def _set_ratio(self, ratio: float) -> None:
        self.rules = rules_on(self.machine, ratio)
