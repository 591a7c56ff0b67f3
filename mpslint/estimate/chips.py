"""Apple-silicon chips: cores, bandwidth, memory sizes, and the matmul rates measured on them (`rules/platform/chips.yaml`)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mpslint.core.finding import RuleError, UsageError
from mpslint.core.knowledge import naming_key, read_yaml, rules_folder


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
    """Return all chips. Raises RuleError naming the row and the key that is missing or wrong."""
    table, path = _table()
    with naming_key(f"{path}: there is no"):
        generations, rows = dict(table["generations"]), list(table["chips"])
    return tuple(_chip(row, generations, path) for row in rows)


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
    """Return every Mac sold with the chips named, or those that reports list where none is named. Raises UsageError, RuleError."""
    if names:
        return tuple(ChipAndMemory(chip, size) for name in names for chip in named_chips(name) for size in chip.memory)
    table, path = _table()
    found = []
    for row in table.get("listed", ()):
        chip = next((chip for chip in chips() if (chip.name, chip.cores) == (row.get("name"), row.get("cores"))), None)
        if chip is None or row.get("memory") not in chip.memory:
            raise RuleError(f"{path}: `listed` names a Mac that is not in `chips`: {row}")
        found.append(ChipAndMemory(chip, row["memory"]))
    return tuple(found)


def _table() -> tuple[Mapping[str, Any], str]:
    path = rules_folder() / "platform" / "chips.yaml"
    table = read_yaml(path)
    if not isinstance(table, dict):
        raise RuleError(f"{path}: holds no keys")
    return table, str(path)


def _chip(row: Any, generations: Mapping[str, Any], path: str) -> Chip:
    name = row.get("name") if isinstance(row, dict) else None
    if not isinstance(name, str):
        raise RuleError(f"{path}: a chip without a name: {row!r:.60}")
    generation = name.split()[0]
    with naming_key(f"{path}: {name}: missing key"):
        about = generations[generation]
        rates = {**about["rates"], **row.get("rates", {})}
        for dtype, rate in rates.items():
            if not rate.get("source"):
                raise RuleError(f"{path}: {name}: the {dtype} rate has no source")
        return Chip(
            name,
            int(row["cores"]),
            float(row["bandwidth"]) * 1e9,
            tuple(int(size) for size in row["memory"]),
            generation,
            {dtype: float(rate["tflops"]) * 1e12 for dtype, rate in rates.items()},
            float(about["launch"]["us"]) * 1e-6,
        )
