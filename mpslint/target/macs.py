"""What each Mac gives to Metal: which Mac a printed limit belongs to, and what fits one (`rules/platform/macs.yaml`)."""

from __future__ import annotations

import functools
import re

from mpslint.core.finding import UsageError
from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.core.versions import Version, VersionRange

GIB = 2**30
OLDER, NEWER = "older", "newer"
_GENERATION = re.compile(r"m\d+")
_HALF_A_DIGIT = 0.006
"""Limits are printed with two decimals, so that much of a GiB is rounding."""


@record(frozen=True, slots=True)
class Mac:
    """A kind of Mac: its memory in GB, and the working set in GiB that Metal recommends with older or newer macOS."""

    memory: int
    working_set: float
    macos: str


@record(frozen=True, slots=True)
class MacGuess:
    """A Mac that would print the limit with this watermark ratio."""

    mac: Mac
    ratio: float


@record(frozen=True, slots=True)
class MemoryLimits:
    """What one Mac can hold, in bytes: what Metal recommends, where torch starts to collect its cache and where it raises,
    and what macOS and the process need beside the tensors."""

    memory_gb: int
    recommended: int
    low: int
    high: int
    reserve: int = 0


@record(frozen=True, slots=True)
class Macs:
    """The table of Macs, and the working sets that virtual machines report."""

    macs: tuple[Mac, ...]
    virtual: tuple[float, ...]
    newer: VersionRange
    """The versions of macOS whose share is the newer one."""
    listed: tuple[int, ...]
    """The memory sizes, in GB, that reports list."""
    reserve: int

    @property
    def largest_memory(self) -> int:
        """Return the memory of the largest Mac, in bytes."""
        return max(mac.memory for mac in self.macs) * GIB

    def is_virtual(self, limit: float, ratio: float) -> bool:
        """Return whether a limit in GiB is one that hosted virtual machines print."""
        return any(abs(limit - ratio * working_set) <= 2 * _HALF_A_DIGIT for working_set in self.virtual)

    def guesses(self, limit: float, ratio: float) -> tuple[MacGuess, ...]:
        """Return the Macs that a limit in GiB fits: with the default ratio, else with another ratio in steps of 0.1.

        Nothing is returned when more than three fit, since that says nothing.
        """
        fits = self._fits(limit, ratio)
        if not fits:
            others = (step / 10 for step in range(1, 21) if step != round(ratio * 10))
            fits = tuple(guess for other in others for guess in self._fits(limit, other))
        return fits if len(fits) <= 3 else ()

    def _fits(self, limit: float, ratio: float) -> tuple[MacGuess, ...]:
        return tuple(MacGuess(mac, ratio) for mac in self.macs if abs(limit - ratio * mac.working_set) <= _HALF_A_DIGIT)

    def working_set(self, memory_gb: int, macos: Version | None) -> int:
        """Return the bytes that Metal recommends; a size that is not in the table takes the share of the next smaller one.

        Where the newer share of a size is not known, or macOS is not, the older one counts: it is the smaller.
        """
        known = max((mac.memory for mac in self.macs if mac.memory <= memory_gb), default=min(mac.memory for mac in self.macs))
        rows = {mac.macos: mac.working_set / mac.memory for mac in self.macs if mac.memory == known}
        is_newer = macos is not None and self.newer.matches({"macos": macos})
        share = rows.get(NEWER if is_newer else OLDER) or rows.get(OLDER) or rows[NEWER]
        return round(share * memory_gb * GIB)


@functools.lru_cache(maxsize=1)
def macs() -> Macs:
    """Return the table that mpslint ships."""
    table = platform_data("macs")
    return Macs(
        tuple(Mac(row["memory"], float(row["working_set"]), row["macos"]) for row in table["macs"]),
        tuple(float(row["working_set"]) for row in table["virtual"]),
        VersionRange.parse(table["newer"]),
        tuple(table["listed"]),
        table["reserve"],
    )


def limits(memory_gb: int, macos: Version | None = None) -> MemoryLimits:
    """Return the memory limits of a Mac of `memory_gb` under a version of macOS (None: not known)."""
    watermarks = platform_data("allocator")["watermarks"]
    recommended = macs().working_set(memory_gb, macos)
    return MemoryLimits(memory_gb, recommended, int(recommended * watermarks["low"]), int(recommended * watermarks["high"]), macs().reserve)


def known_chip(text: str) -> str:
    """Return the name of a chip as it was given. Raises UsageError, naming the known ones, for one of a generation that isn't known."""
    generations = [str(name).lower() for name in platform_data("chips")["generations"]]
    name = text.lower().removeprefix("apple").split()
    if name and _GENERATION.fullmatch(name[0]) and name[0] not in generations:
        raise UsageError(f"chip: {text!r} isn't known; known chips: {', '.join(generations)}, also with pro, max or ultra")
    return text


def smallest_for(needed: float, macos: Version | None) -> int | None:
    """Return the memory of the smallest Mac on which MPS works well with some bytes, in GB; None where it does on none."""
    return next((size for size in sorted({mac.memory for mac in macs().macs}) if limits(size, macos).recommended >= needed), None)
