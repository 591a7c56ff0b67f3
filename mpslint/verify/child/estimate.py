"""What a run needs at its peak, and the largest micro-batch that each Mac takes:
worked out for any batch from a few recorded ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mpslint.verify.child.batches import worst_shape
from mpslint.verify.child.lengths import with_own_lengths
from mpslint.verify.child.rig import Rig
from mpslint.verify.emulator.replay import Replay, base
from mpslint.verify.emulator.segment import Segment, SegmentFamily
from mpslint.verify.outcome import Composition, Estimate, Fit
from mpslint.verify.platform import limits_of
from mpslint.verify.spec import RunSpec, VerifiedMac

BATCHES = (1, 2, 3, 4, 5, 6, 8, 12)
MOST = 4096


def estimate(spec: RunSpec, machine: VerifiedMac, sizes: Sequence[int]) -> Estimate:
    """Return the peak of a step with the longest samples, by category, and how Macs of the given sizes take it."""
    spec, _ = with_own_lengths(spec)
    rig = Rig(spec, machine)
    shapes = [worst_shape(spec, batch) for batch in dict.fromkeys((*BATCHES, spec.train_batch))]
    rig.micro_batch(shapes[0])
    rig.cut()
    rig.optimizer_step()
    initial = rig.cut()
    first = SegmentFamily(rig.record_first, shapes)
    later = SegmentFamily(rig.record_next, shapes) if spec.accumulation > 1 else None
    optimizer = rig.record_optimizer(shapes[0])

    def peak(batch: int) -> Replay:
        return _played(spec, rig.weight_bytes, initial, first, later, optimizer, batch)

    own = peak(spec.train_batch)
    fits = tuple(_fit(machine, size, own.highest, peak) for size in sizes)
    longest = " x ".join(map(str, worst_shape(spec)[1:]))
    return Estimate(
        spec.name,
        Composition(own.highest, own.highest_in, dict(own.composition)),
        sum(parameter.numel() for parameter in rig.model.parameters()),
        spec.train_batch,
        fits,
        (f"for samples of {longest}",) if longest else (),
    )


def _played(
    spec: RunSpec, weights: int, initial: Segment, first: SegmentFamily, later: SegmentFamily | None, optimizer: Segment, batch: int
) -> Replay:
    """Return one optimizer step of the given micro-batch, played; a second micro-batch stands for all later ones."""
    replay = Replay()
    base(replay, weights, initial)
    shape = worst_shape(spec, batch)
    replay.play(first.at(shape), "forward and backward")
    if later is not None:
        replay.play(later.at(shape), "forward and backward")
    replay.play(optimizer, "optimizer step")
    return replay


def _fit(machine: VerifiedMac, size: int, own: int, peak: Callable[[int], Replay]) -> Fit:
    """Return how a Mac takes the run, and the largest micro-batch whose peak leaves it some room."""
    bounds = limits_of(machine, size)
    room = bounds.recommended - bounds.reserve
    low, high = 0, 1
    while high <= MOST and peak(high).highest <= room:
        low, high = high, high * 2
    high = min(high, MOST + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if peak(middle).highest <= room:
            low = middle
        else:
            high = middle
    status = "fits" if own <= room else "tight" if own <= bounds.recommended else "too big"
    return Fit(size, bounds.recommended, own, status, low)  # type: ignore[arg-type]
