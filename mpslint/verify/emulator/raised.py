"""Which exceptions of an emulated run a Mac raises too, and which only the emulation does."""

from __future__ import annotations

import re
from typing import TypeVar

from mpslint.core.knowledge import platform_data

MARK = "is_raised_on_mps"
Raised = TypeVar("Raised", bound=BaseException)


def as_on_mps(error: Raised) -> Raised:
    """Return an exception marked as one that MPS raises at this place."""
    setattr(error, MARK, True)
    return error


def is_raised_on_mps(error: BaseException) -> bool:
    """Return whether a Mac raises an exception too: it, or what it was raised from, is marked as such or says what torch says there."""
    known = [re.compile(pattern) for pattern in platform_data("raised")["on_mps"]]
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        if getattr(current, MARK, False) or any(pattern.search(str(current)) for pattern in known):
            return True
        current = current.__cause__ or current.__context__
    return False


def without_addresses(message: str) -> str:
    """Return a message without where in this process an object lies."""
    return re.sub(r" at 0x[0-9a-fA-F]+\b", "", message)


def in_the_words_of_mps(message: str) -> str:
    """Return a message of torch about the device that stands for MPS as torch words it on a Mac."""
    message = without_addresses(message)
    return re.sub(r"\bmeta\b(?=( \w+)? [Tt]ensor| device)|(?<=tensor at )meta\b", "mps:0", message)
