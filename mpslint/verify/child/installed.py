"""What runs the run: the versions that are installed here."""

from __future__ import annotations

import contextlib
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("torch", "transformers", "accelerate", "lightning")


def versions(*names: str) -> dict[str, str]:
    """Return the installed versions of some packages, of those that a run rests on where none are named."""
    found = {}
    for name in names or PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
