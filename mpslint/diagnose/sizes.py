"""Amounts of memory as people paste them: `4.20 GiB`, `9.07 GB`, `256 bytes`, and the misprints of both."""

from __future__ import annotations

import re
from dataclasses import dataclass

KIB, MIB, GIB = 1024, 1024**2, 1024**3
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SIZE = re.compile(r"\s*(\d[\d.,]*)\s*([A-Za-z]{0,5})\s*")
_UNIT = re.compile(r"(?:bytes?|b|([kmgtc])(i?)b?)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Size:
    """An amount of memory; `binary` is True for KiB/MiB/GiB, False for KB/MB/GB, None where the unit does not tell.

    Both unit systems count in 1024s, since PyTorch only changed the spelling.
    """

    bytes: int
    binary: bool | None = None

    def __str__(self) -> str:
        return format_bytes(self.bytes)


def parse_size(text: str) -> Size | None:
    """Return the size that `text` writes, or None; a number without a unit counts bytes."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    number, unit = _number(match.group(1)), _UNIT.fullmatch(match.group(2) or "b")
    if number is None or unit is None:
        return None
    # `CB` is how `GB` reaches an issue when it was typed from a screenshot.
    letter = (unit.group(1) or "").lower().replace("c", "g")
    binary = bool(unit.group(2)) if letter else None
    return Size(round(number * 1024 ** _POWERS[letter]), binary)


def format_bytes(count: int) -> str:
    """Return an amount in the largest unit that keeps it above one: `4.20 GiB`, `480.00 KiB`, `256 bytes`."""
    for unit, size in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} bytes"


def _number(text: str) -> float | None:
    """Return the number in `1,024.00`, `4.20` or `4,20` (a lone comma before one or two digits is a decimal comma)."""
    text = text.rstrip(".,")
    if re.fullmatch(r"\d+,\d{1,2}", text):
        text = text.replace(",", ".")
    text = text.replace(",", "")
    return float(text) if re.fullmatch(r"\d+(?:\.\d*)?", text) else None
