"""Does a file name anything that the shipped rules are about: a framework, a device, or a variable, command or key of theirs?

A file without any has nothing to do with PyTorch: it is not parsed, and nothing is said about it.
"""

from __future__ import annotations

from mpslint.core.knowledge import platform_data, shipped_words


def names_framework(data: bytes) -> bool:
    """Return whether a file names anything that the rules are about; the quickest test, on bytes as they are, for which none is loaded."""
    return any(word in data for word in shipped_words() or compiled_words())


def compiled_words() -> tuple[bytes, ...]:
    """Return the words of `rules/platform/frameworks.yaml`, of which such a file has one."""
    return tuple(word.encode() for word in platform_data("frameworks"))
