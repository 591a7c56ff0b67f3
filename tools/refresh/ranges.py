"""Ranges of versions in the tables: what they say of a release, and where in the releases something changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from packaging.specifiers import SpecifierSet
from packaging.version import Version

_CLAUSE = re.compile(r"^([\w-]+) *([<>=!]=?) *([\d.]+)$")


def clauses(written: str) -> tuple[str, SpecifierSet]:
    """Return (package, range) of a text such as `trl >= 0.12, trl < 0.16`. Raises ValueError for anything else."""
    found = [_CLAUSE.match(part.strip()) for part in written.split(",")]
    packages = {one.group(1) for one in found if one is not None}
    if None in found or len(packages) != 1:
        raise ValueError(written)
    return packages.pop(), SpecifierSet(",".join(f"{one.group(2)}{one.group(3)}" for one in found if one is not None))


def beside(bounds: SpecifierSet, releases: Sequence[str]) -> list[str]:
    """Return the releases next to each bound, on both of its sides."""
    found: dict[str, None] = {}
    for clause in bounds:
        after = [one for one in releases if Version(one) >= Version(clause.version)]
        before = [one for one in releases if Version(one) < Version(clause.version)]
        found |= dict.fromkeys([*before[-1:], *after[:1]])
    return list(found)


def change(releases: Sequence[str], holds: Callable[[str], bool | None]) -> str | None:
    """Return the first release in which something is otherwise than in the first of them, found by halving; None if nowhere known."""
    low, high = 0, len(releases) - 1
    if not releases or holds(releases[low]) is None or holds(releases[high]) in (None, holds(releases[low])):
        return None
    first = holds(releases[low])
    while high - low > 1:
        middle = (low + high) // 2
        if holds(releases[middle]) == first:
            low = middle
        else:
            high = middle
    return releases[high]


def short(release: str) -> str:
    """Return a version as the tables write it: without zeros at its end, but with a minor version."""
    parts = [*Version(release).release]
    while len(parts) > 2 and parts[-1] == 0:
        parts.pop()
    return str(parts[0]) if parts[1:] == [0] and parts[0] > 0 else ".".join(map(str, parts))
