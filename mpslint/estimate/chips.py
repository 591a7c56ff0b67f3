"""Apple-silicon chips: cores, bandwidth, memory sizes, and the matmul rates measured on them (`rules/platform/chips.yaml`)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mpslint.core.finding import UsageError
from mpslint.core.knowledge import platform_data


@dataclass(frozen=True, slots=True)
class Chip:
    """One GPU that is sold. Rates are FLOP/s of one core by dtype, bandwidth is bytes/s, launch is seconds."""

    name: str
    cores: int
    bandwidth: float
    memory: tuple[int, ...]
    generation: str
    rates: Mapping[str, float]
    launch: float

    @property
    def title(self) -> str:
        """The name with its cores, which tell variants apart: `M4 Pro (20 GPU cores)`."""
        return f"{self.name} ({self.cores} GPU cores)"

    def rate(self, dtype: str) -> float:
        """Return the FLOP/s of the whole GPU; a dtype that nobody measured counts as float32."""
        return self.cores * self.rates.get(dtype, self.rates["float32"])


@dataclass(frozen=True, slots=True)
class ChipAndMemory:
    """A chip with one of its memory sizes, in GB."""

    chip: Chip
    memory: int

    @property
    def title(self) -> str:
        """`M4 Pro 20 cores, 24 GB`."""
        return f"{self.chip.name} {self.chip.cores} cores, {self.memory} GB"


@functools.lru_cache(maxsize=1)
def chips() -> tuple[Chip, ...]:
    """Return all chips."""
    table = platform_data("chips")
    return tuple(_chip(row, table["generations"][row["name"].split()[0]]) for row in table["chips"])


def variants_of(text: str) -> tuple[Chip, ...]:
    """Return the variants that a name means, in any case; none for one that isn't known."""
    wanted = " ".join(text.lower().removeprefix("apple ").split())
    return tuple(chip for chip in chips() if chip.name.lower() == wanted)


def named_chips(text: str) -> tuple[Chip, ...]:
    """Return the variants that a name means: `M4 Pro`, in any case. Raises UsageError naming the known ones."""
    found = variants_of(text)
    if not found:
        known = ", ".join(dict.fromkeys(chip.name for chip in chips()))
        raise UsageError(f"there is no chip {text!r}; known chips are {known}")
    return found


def chip_of(machine: str, cores: int | None) -> Chip | None:
    """Return the chip of a Mac by what macOS calls it and how many cores its GPU has; None where it's none that is known."""
    variants = variants_of(machine)
    return next((chip for chip in variants if chip.cores == cores), variants[0] if cores is None and len(variants) == 1 else None)


def macs_of(names: tuple[str, ...]) -> tuple[ChipAndMemory, ...]:
    """Return every Mac sold with the chips named, or those that reports list where none is named. Raises UsageError."""
    if names:
        return tuple(ChipAndMemory(chip, size) for name in names for chip in named_chips(name) for size in chip.memory)
    known = {(chip.name, chip.cores): chip for chip in chips()}
    return tuple(ChipAndMemory(known[row["name"], row["cores"]], row["memory"]) for row in platform_data("chips")["listed"])


def _chip(row: Mapping[str, Any], generation: Mapping[str, Any]) -> Chip:
    rates = {**generation["rates"], **row.get("rates", {})}
    return Chip(
        row["name"],
        row["cores"],
        row["bandwidth"] * 1e9,
        tuple(row["memory"]),
        row["name"].split()[0],
        {dtype: rate["tflops"] * 1e12 for dtype, rate in rates.items()},
        generation["launch"]["us"] * 1e-6,
    )
