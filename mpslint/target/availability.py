"""Combinations of versions under which MPS is unavailable to every run (`rules/platform/broken_combinations.yaml`)."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.core.versions import Version, VersionRange


@record(frozen=True, slots=True)
class Unavailable:
    """Versions with which MPS is unavailable, what happens, and what to change."""

    versions: VersionRange
    effect: str
    change: str


@functools.lru_cache(maxsize=1)
def unavailable_combinations() -> tuple[Unavailable, ...]:
    """Return the combinations. Raises RuleError for a range that can't be read."""
    rows = [row for row in platform_data("broken_combinations") if row.get("mps") == "unavailable"]
    return tuple(Unavailable(VersionRange.parse(row["versions"]), row["effect"], row["change"]) for row in rows)


def unavailable_with(versions: Mapping[str, Version]) -> Unavailable | None:
    """Return the combination that versions match; None where MPS is available."""
    return next((one for one in unavailable_combinations() if one.versions.matches(versions)), None)
