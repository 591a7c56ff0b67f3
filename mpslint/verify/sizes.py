"""Numbers of bytes in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.verify.outcome import RunResult


def size(count: float) -> str:
    """Return bytes as people read them."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if abs(count) >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count:.0f} B"


def peak_of(run: RunResult) -> str:
    """Return the peak of a run's longest samples in words; of a run that ended before it showed them all, what it came to by then."""
    return "not known" if run.largest_peak < 0 else f"{'at least ' if run.out_of_memory else ''}{size(run.largest_peak)}"
