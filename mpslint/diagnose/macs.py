"""Which Mac a printed limit belongs to (`rules/platform/macs.yaml`)."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from mpslint.diagnose.sizes import GIB
from mpslint.finding import RuleError
from mpslint.knowledge import read_yaml, rules_folder

_HALF_A_DIGIT = 0.006
"""Limits are printed with two decimals, so that much of a GiB is rounding."""


@dataclass(frozen=True, slots=True)
class Mac:
    """A kind of Mac: its memory in GB, and the working set in GiB that Metal recommends with older or newer macOS."""

    memory: int
    working_set: float
    macos: str


@dataclass(frozen=True, slots=True)
class MacGuess:
    """A Mac that would print the limit with this watermark ratio."""

    mac: Mac
    ratio: float


@dataclass(frozen=True, slots=True)
class Macs:
    """The table of Macs, and the working sets that virtual machines report."""

    macs: tuple[Mac, ...]
    virtual: tuple[float, ...]

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


@functools.lru_cache(maxsize=1)
def macs() -> Macs:
    """Return the table that mpslint ships. Raises RuleError when a row is not what it should be."""
    path = rules_folder() / "platform" / "macs.yaml"
    table = read_yaml(path)
    try:
        return Macs(
            tuple(Mac(int(row["memory"]), float(row["working_set"]), str(row["macos"])) for row in table["macs"]),
            tuple(float(row["working_set"]) for row in table["virtual"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RuleError(f"{path}: a row lacks or misspells {error}") from None
