"""Numbers of bytes in words."""

from __future__ import annotations


def size(count: float) -> str:
    """Return bytes as people read them."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if abs(count) >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count:.0f} B"
