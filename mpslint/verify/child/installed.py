"""What runs the run: the versions that are installed here, and the memory that this process holds."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import psutil

PACKAGES = ("torch", "transformers", "accelerate", "lightning")


def versions() -> dict[str, str]:
    """Return the installed versions of the packages that a run rests on."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def resident() -> int:
    """Return the bytes of memory that this process holds."""
    return int(psutil.Process().memory_info().rss)
