"""A model of the MPS allocator: which Metal heaps a sequence of allocations leads to. No torch needed.

Up to torch 2.13 a freed buffer is kept whole and reused only for a similar size;
from 2.14 freed blocks are split and joined again.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field

from mpslint.verify.platform import HeapRules


class OutOfMemoryError(RuntimeError):
    """What torch raises past the high watermark; its text is the one that a Mac prints."""

    def __init__(self, live: int, driver: int, high: int, size: int) -> None:
        self.live, self.driver, self.high, self.size = live, driver, high, size
        super().__init__(
            f"MPS backend out of memory (MPS allocated: {_gib(live)}, other allocations: {_gib(driver - live)}, "
            f"max allowed: {_gib(high)}). Tried to allocate {_gib(size)} on private pool."
        )


def _gib(size: int) -> str:
    return f"{size / 2**30:.2f} GiB" if size >= 2**30 else f"{size / 2**20:.2f} MiB" if size >= 2**20 else f"{size / 2**10:.2f} KiB"


@dataclass(slots=True, eq=False)
class Heap:
    """One Metal heap and its free extents, by size and by where they begin and end."""

    number: int
    size: int
    is_shared: bool
    buffers: int = 0
    free: list[tuple[int, int]] = field(default_factory=list)
    """(size, offset), ordered."""
    starts: dict[int, int] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._add(0, self.size)

    @property
    def room(self) -> int:
        """The size of the largest free extent."""
        return self.free[-1][0] if self.free else 0

    def take(self, size: int) -> int:
        """Return the offset of the smallest free extent that holds `size`, taken out. The caller knows that there is one."""
        whole, offset = self.free[bisect.bisect_left(self.free, (size, -1))]
        self._remove(offset, whole)
        if whole > size:
            self._add(offset + size, whole - size)
        self.buffers += 1
        return offset

    def give(self, offset: int, size: int) -> None:
        """Put an extent back, joined with its free neighbours."""
        after = self.starts.get(offset + size)
        if after is not None:
            self._remove(offset + size, after)
            size += after
        before = self.ends.get(offset)
        if before is not None:
            self._remove(before, offset - before)
            size += offset - before
            offset = before
        self._add(offset, size)
        self.buffers -= 1

    def _add(self, offset: int, size: int) -> None:
        bisect.insort(self.free, (size, offset))
        self.starts[offset] = size
        self.ends[offset + size] = offset

    def _remove(self, offset: int, size: int) -> None:
        del self.free[bisect.bisect_left(self.free, (size, offset))]
        del self.starts[offset], self.ends[offset + size]


@dataclass(slots=True, eq=False)
class Block:
    """One buffer: the heap it lies in, where, and how big it really is."""

    heap: Heap
    offset: int
    size: int


@dataclass(slots=True)
class Pool:
    """The small or the large buffers: their heaps by the room they have, and the cached buffers ordered by size."""

    heaps: dict[int, Heap] = field(default_factory=dict)
    rooms: list[tuple[int, int]] = field(default_factory=list)
    """(room, number) of each heap, ordered."""
    sizes: list[int] = field(default_factory=list)
    cached: list[Block] = field(default_factory=list)

    def put(self, block: Block) -> None:
        """Cache a freed buffer."""
        place = bisect.bisect_left(self.sizes, block.size)
        self.sizes.insert(place, block.size)
        self.cached.insert(place, block)

    def pop(self, place: int) -> Block:
        """Take a cached buffer out."""
        del self.sizes[place]
        return self.cached.pop(place)

    def add(self, heap: Heap) -> None:
        """Take a new heap in."""
        self.heaps[heap.number] = heap
        bisect.insort(self.rooms, (heap.room, heap.number))

    def drop(self, heap: Heap) -> None:
        """Forget a heap."""
        del self.heaps[heap.number]
        del self.rooms[bisect.bisect_left(self.rooms, (heap.room, heap.number))]

    def take(self, heap: Heap, size: int) -> int:
        """Return where in a heap `size` bytes are taken."""
        before = heap.room
        offset = heap.take(size)
        self._moved(heap, before)
        return offset

    def give(self, block: Block) -> None:
        """Put a block's extent back into its heap."""
        before = block.heap.room
        block.heap.give(block.offset, block.size)
        self._moved(block.heap, before)

    def tightest(self, size: int) -> Heap | None:
        """Return the heap with the least room that still holds `size`."""
        place = bisect.bisect_left(self.rooms, (size, -1))
        return self.heaps[self.rooms[place][1]] if place < len(self.rooms) else None

    def best(self, size: int) -> Heap | None:
        """Return the heap with the smallest free extent that holds `size`."""
        found: tuple[int, int] | None = None
        for _, number in self.rooms[bisect.bisect_left(self.rooms, (size, -1)) :]:
            heap = self.heaps[number]
            smallest = heap.free[bisect.bisect_left(heap.free, (size, -1))][0]
            if found is None or (smallest, number) < found:
                found = smallest, number
        return self.heaps[found[1]] if found is not None else None

    def _moved(self, heap: Heap, before: int) -> None:
        if heap.room != before:
            del self.rooms[bisect.bisect_left(self.rooms, (before, heap.number))]
            bisect.insort(self.rooms, (heap.room, heap.number))


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

    def allocate(self, size: int) -> Block | None:
        """Return the block that a tensor of `size` bytes gets; a tensor of no bytes gets none.

        Raises OutOfMemoryError where torch does: past the high watermark, with every cached buffer released.
        """
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
            pool.give(block)
        else:
            pool.put(block)

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
        for pool in (self._small, self._large):
            while pool.cached:
                self._release(pool, pool.pop(len(pool.cached) - 1))
            for heap in [heap for heap in pool.heaps.values() if not heap.buffers]:
                self._drop(pool, heap)

    def _whole(self, pool: Pool, size: int) -> Block:
        """Allocate as torch up to 2.13: reuse a cached buffer that is not much too big, else make a new one."""
        pressure = self._is_pressed(size)
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

    def _joined(self, pool: Pool, size: int) -> Block:
        """Allocate as torch from 2.14 on: the smallest free extent of any heap, split as needed."""
        best = pool.best(size)
        if best is None:
            return self._new(pool, size, self._is_pressed(size))
        return Block(best, pool.take(best, size), size)

    def _new(self, pool: Pool, size: int, pressure: bool) -> Block:
        if self.rules.high_watermark:
            self._make_room(pool, size)
        heap = pool.tightest(size)
        if heap is None:
            heap = self._make_heap(size, pressure)
            pool.add(heap)
            self.driver += heap.size
            if not heap.is_shared and not self.rules.coalesces:
                size = heap.size
        return Block(heap, pool.take(heap, size), size)

    def _make_room(self, pool: Pool, size: int) -> None:
        """Keep below the high watermark: release cached buffers of the pool, then the whole cache, then raise."""
        high = self.rules.high_watermark
        if self.driver + size > high:
            self._collect(pool, size)
        if self.driver + size > high:
            self.empty_cache()
        if self.driver + size > high:
            raise OutOfMemoryError(self.live, self.driver, high, size)

    def _make_heap(self, size: int, pressure: bool) -> Heap:
        rules = self.rules
        self._count += 1
        if size <= rules.small_limit:
            return Heap(self._count, rules.small_heap, True)
        if size < rules.large_limit:
            return Heap(self._count, rules.large_heap, True)
        if size < rules.extra_large_heap // 2 and not pressure:
            return Heap(self._count, rules.extra_large_heap, True)
        return Heap(self._count, -(-size // rules.round_large) * rules.round_large, False)

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
        pool.give(block)
        if not block.heap.buffers:
            self._drop(pool, block.heap)

    def _drop(self, pool: Pool, heap: Heap) -> None:
        pool.drop(heap)
        self.driver -= heap.size
