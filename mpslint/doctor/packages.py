"""The versions of the packages that decide what happens on MPS, by metadata: none of them is imported."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib import metadata

from mpslint.core.knowledge import platform_data
from mpslint.core.versions import Version, parse_version


def installed_packages() -> Mapping[str, str]:
    """Return the version of each package that mpslint knows and this environment has, in the order of the knowledge."""
    found = {}
    for name in known_packages():
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def known_packages() -> tuple[str, ...]:
    """Return the packages that mpslint knows."""
    return tuple(row["name"] for row in platform_data("packages")["packages"])


def versions_of(packages: Mapping[str, str], macos: Version | None) -> Mapping[str, Version]:
    """Return versions to compare: those of the packages, of Python and, on a Mac, of macOS."""
    texts = {**packages, "python": platform.python_version()}
    versions = {name: version for name, text in texts.items() if (version := parse_version(text)) is not None}
    return {**versions, "macos": macos} if macos else versions
