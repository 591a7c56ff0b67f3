"""What the MPS allocator keeps its heaps in: whole buffers by size up to torch 2.13, one order of free extents from 2.14 on."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field

APART = 2**60
"""Between the addresses of the small buffers and those of the large ones."""


@dataclass(slots=True, eq=False, kw_only=True)
class Extents:
    """Free stretches of addresses, by size and by where they begin and end."""

    free: list[tuple[int, int]] = field(default_factory=list)
    """(size, address), ordered."""
    starts: dict[int, int] = field(default_factory=dict)
    """The size of the free extent that begins at an address."""
    ends: dict[int, int] = field(default_factory=dict)
    """Where the free extent begins that ends at an address."""

    def take(self, size: int) -> int:
        """Return the address of the smallest free extent that holds `size`, split as needed; -1 where there is none."""
        free = self.free
        place = bisect.bisect_left(free, (size, -1))
        if place == len(free):
            return -1
        whole, address = free.pop(place)
        del self.starts[address]
        if whole > size:
            rest = address + size
            bisect.insort(free, (whole - size, rest))
            self.starts[rest] = whole - size
            self.ends[address + whole] = rest
        else:
            del self.ends[address + whole]
        return address

    def give(self, address: int, size: int) -> None:
        """Put an extent back, joined with its free neighbours."""
        free, starts, ends = self.free, self.starts, self.ends
        after = starts.pop(address + size, None)
        if after is not None:
            del free[bisect.bisect_left(free, (after, address + size))]
            size += after
        before = ends.pop(address, None)
        if before is not None:
            del free[bisect.bisect_left(free, (address - before, before))]
            size += address - before
            address = before
        bisect.insort(free, (size, address))
        starts[address] = size
        ends[address + size] = address


@dataclass(slots=True, eq=False)
class Heap(Extents):
    """One Metal heap and its free extents."""

    number: int
    size: int
    is_shared: bool
    buffers: int = 0

    def __post_init__(self) -> None:
        self.give(0, self.size)

    @property
    def room(self) -> int:
        """The size of the largest free extent."""
        return self.free[-1][0] if self.free else 0


@dataclass(slots=True, eq=False)
class Block:
    """One buffer: the heap it lies in (none where freed buffers are joined: there each heap has its own addresses), where,
    and how big it really is."""

    heap: Heap | None
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
        heap.buffers += 1
        self._moved(heap, before)
        return offset

    def give(self, block: Block) -> None:
        """Put a block's extent back into its heap."""
        assert block.heap is not None
        before = block.heap.room
        block.heap.give(block.offset, block.size)
        block.heap.buffers -= 1
        self._moved(block.heap, before)

    def tightest(self, size: int) -> Heap | None:
        """Return the heap with the least room that still holds `size`."""
        place = bisect.bisect_left(self.rooms, (size, -1))
        return self.heaps[self.rooms[place][1]] if place < len(self.rooms) else None

    def _moved(self, heap: Heap, before: int) -> None:
        if heap.room != before:
            del self.rooms[bisect.bisect_left(self.rooms, (before, heap.number))]
            bisect.insort(self.rooms, (heap.room, heap.number))


@dataclass(slots=True, eq=False)
class JoinedPool(Extents):
    """The small or the large buffers of torch that joins freed ones: all free extents in one order, whatever heap they lie in.

    Each heap has addresses of its own, one apart from the next heap's, so that extents of two heaps never join.
    """

    heaps: dict[int, int] = field(default_factory=dict)
    """The size of each heap, by its first address."""
    next: int = 0
    """The first address of the next heap."""

    def grow(self, size: int) -> None:
        """Take a new heap in."""
        self.heaps[self.next] = size
        self.give(self.next, size)
        self.next += size + 1

    def release(self) -> int:
        """Give up every heap that is wholly free; return how many bytes that were."""
        empty = [(address, size) for address, size in self.heaps.items() if self.starts.get(address) == size]
        for address, size in empty:
            self.free.remove((size, address))
            del self.heaps[address], self.starts[address], self.ends[address + size]
        return sum(size for _, size in empty)
