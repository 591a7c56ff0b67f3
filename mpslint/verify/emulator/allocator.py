"""A model of the MPS allocator: which Metal heaps a sequence of allocations leads to. No torch needed.

Up to torch 2.13 a freed buffer is kept whole and reused only for a similar size;
from 2.14 freed blocks are split and joined again.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field

from mpslint.verify.platform import HeapRules


@dataclass(slots=True, eq=False)
class Heap:
    """One Metal heap and its free extents as (offset, size), in order of offset."""

    size: int
    is_shared: bool
    free: list[tuple[int, int]]
    buffers: int = 0

    def take(self, size: int) -> int | None:
        """Return the offset of the smallest free extent that holds `size`, taken out; None when none does."""
        best = min((extent for extent in self.free if extent[1] >= size), key=lambda extent: extent[1], default=None)
        if best is None:
            return None
        place = self.free.index(best)
        rest = [(best[0] + size, best[1] - size)] if best[1] > size else []
        self.free[place : place + 1] = rest
        self.buffers += 1
        return best[0]

    def give(self, offset: int, size: int) -> None:
        """Put an extent back, joined with its free neighbours."""
        place = bisect.bisect(self.free, (offset, 0))
        if place < len(self.free) and offset + size == self.free[place][0]:
            size += self.free.pop(place)[1]
        if place and sum(self.free[place - 1]) == offset:
            place -= 1
            offset, size = self.free[place][0], self.free.pop(place)[1] + size
        self.free.insert(place, (offset, size))
        self.buffers -= 1


@dataclass(slots=True, eq=False)
class Block:
    """One buffer: the heap it lies in, where, and how big it really is."""

    heap: Heap
    offset: int
    size: int


@dataclass(slots=True)
class Pool:
    """The small or the large buffers: their shared heaps, and the cached buffers ordered by size."""

    heaps: list[Heap] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    cached: list[Block] = field(default_factory=list)
    spare: int = 0

    def put(self, block: Block) -> None:
        """Cache a freed buffer."""
        place = bisect.bisect_left(self.sizes, block.size)
        self.sizes.insert(place, block.size)
        self.cached.insert(place, block)
        self.spare += block.size

    def pop(self, place: int) -> Block:
        """Take a cached buffer out."""
        block = self.cached.pop(place)
        self.spare -= self.sizes.pop(place)
        return block


class AllocatorModel:
    """`driver` is what torch.mps.driver_allocated_memory() would say, by the model; `live` the tensors in it."""

    def __init__(self, rules: HeapRules) -> None:
        self.rules = rules
        self.driver = 0
        self.live = 0
        self.peak = 0
        self._small, self._large = Pool(), Pool()

    def allocate(self, size: int) -> Block | None:
        """Return the block that a tensor of `size` bytes gets; a tensor of no bytes gets none."""
        if size <= 0:
            return None
        rules = self.rules
        unit = rules.page if size > rules.page else rules.alignment
        size = -(-size // unit) * unit
        pool = self._small if size <= rules.small_limit else self._large
        block = self._joined(pool, size) if rules.coalesces else self._whole(pool, size)
        self.live += block.size
        self.peak = max(self.peak, self.driver)
        return block

    def free(self, block: Block) -> None:
        """Give a tensor's block back to the cache."""
        self.live -= block.size
        pool = self._small if block.size <= self.rules.small_limit else self._large
        if self.rules.coalesces:
            block.heap.give(block.offset, block.size)
        else:
            pool.put(block)

    def empty_cache(self) -> None:
        """Release every cached buffer, and every heap that is empty then."""
        for pool in (self._small, self._large):
            while pool.cached:
                self._release(pool, pool.pop(len(pool.cached) - 1))
            for heap in [heap for heap in pool.heaps if not heap.buffers]:
                self._drop(pool, heap)

    def _whole(self, pool: Pool, size: int) -> Block:
        """Allocate as torch up to 2.13: reuse a cached buffer that is not much too big, else make a new one."""
        pressure = self._is_pressed(size)
        place = bisect.bisect_left(pool.sizes, size)
        if place < len(pool.sizes):
            if pool.sizes[place] <= size + self.rules.oversize:
                return pool.pop(place)
            if not any(self._fits(heap, size) for heap in pool.heaps):
                self._release(pool, pool.pop(place))
                pressure = False
        if pressure:
            self._collect(pool, size)
        return self._new(pool, size, pressure)

    def _joined(self, pool: Pool, size: int) -> Block:
        """Allocate as torch from 2.14 on: the smallest free extent of any heap, split as needed."""
        best: Heap | None = None
        smallest = -1
        for heap in pool.heaps:
            fitting = [extent[1] for extent in heap.free if extent[1] >= size]
            if fitting and (smallest < 0 or min(fitting) < smallest):
                best, smallest = heap, min(fitting)
        if best is None:
            return self._new(pool, size, self._is_pressed(size))
        return Block(best, best.take(size) or 0, size)

    def _new(self, pool: Pool, size: int, pressure: bool) -> Block:
        for heap in sorted(pool.heaps, key=lambda heap: max((extent[1] for extent in heap.free), default=0)):
            if heap.is_shared and self._fits(heap, size):
                return Block(heap, heap.take(size) or 0, size)
        heap = self._make_heap(size, pressure)
        pool.heaps.append(heap)
        self.driver += heap.size
        if not heap.is_shared:
            size = heap.size if not self.rules.coalesces else size
        return Block(heap, heap.take(size) or 0, size)

    def _make_heap(self, size: int, pressure: bool) -> Heap:
        rules = self.rules
        if size <= rules.small_limit:
            return Heap(rules.small_heap, True, [(0, rules.small_heap)])
        if size < rules.large_limit:
            return Heap(rules.large_heap, True, [(0, rules.large_heap)])
        if size < rules.extra_large_heap // 2 and not pressure:
            return Heap(rules.extra_large_heap, True, [(0, rules.extra_large_heap)])
        rounded = -(-size // rules.round_large) * rules.round_large
        return Heap(rounded, False, [(0, rounded)])

    def _is_pressed(self, size: int) -> bool:
        return bool(self.rules.low_watermark) and self.driver + size > self.rules.low_watermark

    def _collect(self, pool: Pool, size: int) -> None:
        """Release cached buffers, biggest first, until as much is free as is asked for or nothing is left."""
        freed = 0
        while pool.cached and freed < size:
            block = pool.pop(len(pool.cached) - 1)
            freed += block.size
            self._release(pool, block)

    def _release(self, pool: Pool, block: Block) -> None:
        block.heap.give(block.offset, block.size)
        if not block.heap.buffers:
            self._drop(pool, block.heap)

    def _drop(self, pool: Pool, heap: Heap) -> None:
        pool.heaps.remove(heap)
        self.driver -= heap.size

    @staticmethod
    def _fits(heap: Heap, size: int) -> bool:
        return any(extent[1] >= size for extent in heap.free)
