"""Combinations of versions that break something (`rules/platform/broken_combinations.yaml`), MPS for every run among it."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from mpslint.core.knowledge import given_fields, platform_data
from mpslint.core.record import record
from mpslint.core.versions import Version, VersionRange


@record(frozen=True, slots=True)
class Combination:
    """Versions that are known to break something: what happens, and what to change."""

    id: str
    versions: VersionRange
    severity: str
    effect: str
    change: str
    sources: tuple[str, ...]
    only_with: str = ""
    """What must be used for it to matter; empty where every run is concerned."""
    mps: str = ""
    """`unavailable` where no run reaches the GPU."""


@functools.lru_cache(maxsize=1)
def combinations() -> tuple[Combination, ...]:
    """Return the known combinations. Raises RuleError for a range that can't be read."""
    rows = platform_data("broken_combinations")
    read = (({**given_fields(Combination, row), "only_with": row.get("with", "")}, row["versions"]) for row in rows)
    return tuple(Combination(**{**fields, "versions": VersionRange.parse(versions)}) for fields, versions in read)


def unavailable_with(versions: Mapping[str, Version]) -> Combination | None:
    """Return the combination with which MPS is unavailable to every run; None where it is available."""
    return next((one for one in combinations() if one.mps == "unavailable" and one.versions.matches(versions)), None)
