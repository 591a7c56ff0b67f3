"""Plays recorded segments one after the other, through the allocator's model: memory over the steps,
and what the peak is made of."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from mpslint.verify.emulator.allocator import AllocatorModel
from mpslint.verify.emulator.breakdown import GRADIENTS, OPTIMIZER, WEIGHTS
from mpslint.verify.emulator.pools import Block
from mpslint.verify.emulator.segment import Owner, Segment


@dataclass(slots=True)
class Held:
    """A buffer that outlives its segment."""

    size: int
    category: str
    block: Block | None = None


@dataclass(slots=True)
class Replay:
    """Live memory and, with a model of the allocator, driver memory, while segments are played."""

    model: AllocatorModel | None = None
    live: int = 0
    peak: int = 0
    held: dict[str, list[Held]] = field(default_factory=dict)
    composition: Counter[str] = field(default_factory=Counter)
    """What was alive at the highest peak so far, in bytes by category."""
    highest: int = -1
    highest_in: str = ""

    def hold(self, label: str, size: int, category: str) -> None:
        """Place a buffer that was there before the first segment, such as a weight."""
        block = self.model.allocate(size) if self.model is not None else None
        self.held.setdefault(label, []).append(Held(size, category, block))
        self.live += size
        self.peak = max(self.peak, self.live)

    def drop(self, label: str) -> None:
        """Free what a label names."""
        for held in self.held.pop(label, []):
            self.live -= held.size
            if held.block is not None and self.model is not None:
                self.model.free(held.block)

    def start_peak(self) -> None:
        """Measure the next peak from here on."""
        self.peak = self.live

    def play(self, segment: Segment, name: str = "") -> None:
        """Play one segment."""
        start, before = self.live, self.peak
        self.peak = self.live
        if self.model is None:
            top, at = self._run(segment)
        else:
            top, at = self._run_with_blocks(segment, self.model)
        self.peak = max(before, top)
        if top > self.highest:
            self.highest, self.highest_in = top, name
            self.composition = self._compose(segment, at, start)

    def _run(self, segment: Segment) -> tuple[int, int]:
        sizes, live, top, at = segment.sizes, self.live, self.live, -1
        for place, (is_birth, owner) in enumerate(segment.events):
            if is_birth:
                live += sizes[owner]  # type: ignore[index]
                if live > top:
                    top, at = live, place
            else:
                live -= sizes[owner] if isinstance(owner, int) else self._take(owner)
        self.live = live
        self._keep(segment, sizes, {})
        return top, at

    def _run_with_blocks(self, segment: Segment, model: AllocatorModel) -> tuple[int, int]:
        sizes, live, top, at = segment.sizes, self.live, self.live, -1
        blocks: dict[int, Block] = {}
        for place, (is_birth, owner) in enumerate(segment.events):
            if is_birth:
                block = model.allocate(sizes[owner])  # type: ignore[index]
                if block is not None:
                    blocks[owner] = block  # type: ignore[index]
                live += sizes[owner]  # type: ignore[index]
                if live > top:
                    top, at = live, place
            elif isinstance(owner, int):
                freed = blocks.pop(owner, None)
                if freed is not None:
                    model.free(freed)
                live -= sizes[owner]
            else:
                live -= self._take(owner)
        self.live = live
        self._keep(segment, sizes, blocks)
        return top, at

    def _take(self, label: str) -> int:
        """Free one buffer of an earlier segment; return its size."""
        waiting = self.held.get(label)
        if not waiting:
            return 0
        held = waiting.pop()
        if held.block is not None and self.model is not None:
            self.model.free(held.block)
        return held.size

    def _keep(self, segment: Segment, sizes: list[int], blocks: dict[int, Block]) -> None:
        for place, label in segment.labels:
            category = segment.categories[place]
            self.held.setdefault(label, []).append(Held(sizes[place], category, blocks.get(place)))

    def _compose(self, segment: Segment, at: int, start: int) -> Counter[str]:
        """Return what is alive after event `at` of a segment that began with `start` bytes alive."""
        found: Counter[str] = Counter()
        sizes = segment.sizes
        own: dict[Owner, int] = {}
        kept = {label for _, label in segment.labels}
        for label, waiting in self.held.items():
            for held in waiting[: len(waiting) - (label in kept)]:
                found[held.category] += held.size
        for is_birth, owner in segment.events[: at + 1]:
            if is_birth:
                own[owner] = sizes[owner]  # type: ignore[index]
            else:
                own.pop(owner, None)
        for place, size in own.items():
            found[segment.categories[place]] += size  # type: ignore[index]
        # What the segment itself freed later was still alive at its peak.
        missing = start + sum(own.values()) - sum(found.values())
        if missing > 0:
            found[GRADIENTS] += missing
        return +found


def base(replay: Replay, weights: int, optimizer: Segment) -> None:
    """Place the weights, and the optimizer's state as its first step leaves it."""
    replay.hold("weights", weights, WEIGHTS)
    sizes = optimizer.sizes
    for place, label in optimizer.labels:
        if not label.startswith("grad"):
            replay.hold(label + ":state", sizes[place], OPTIMIZER)
