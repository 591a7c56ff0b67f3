"""The packages that the knowledge covers: their names, their releases, what each release requires of the others, and combinations of
versions that break something (`rules/platform/broken_combinations.yaml`), MPS for every run among it."""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from mpslint.core.finding import Severity
from mpslint.core.knowledge import given_fields, platform_data
from mpslint.core.record import record
from mpslint.core.versions import Version, VersionRange, parse_version
from mpslint.target.specifier import Admits, admitting, shortened


@record(frozen=True, slots=True)
class Need:
    """What a release needs of another package, or of Python."""

    name: str
    spec: str
    admits: Admits
    is_required: bool
    """pip refuses to install anything else; otherwise the package installs, but its PyTorch part doesn't work."""


@functools.lru_cache(maxsize=1)
def newest_versions() -> Mapping[str, Version]:
    """Return the newest versions that the knowledge covers, by package (`rules/platform/versions.yaml`)."""
    return _versions("newest")


@functools.lru_cache(maxsize=1)
def oldest_read() -> Mapping[str, Version]:
    """Return the release of each package from which on the rules were read in it, where that is said."""
    return _versions("read_from")


def older_than_read(versions: Mapping[str, Version]) -> dict[str, Version]:
    """Return the packages whose version is older than those that the rules were read in, with the first of these."""
    return {name: first for name, first in oldest_read().items() if versions.get(name, first)[: len(first)] < first}


def _versions(key: str) -> dict[str, Version]:
    found = {name: parse_version(str(text)) for name, text in platform_data("versions")[key].items()}
    return {name: version for name, version in found.items() if version is not None}


@functools.lru_cache(maxsize=4096)
def canonical(name: str) -> str:
    """Return the name that the knowledge uses for a package."""
    plain = re.sub(r"[-_.]+", "-", name).lower()
    return next((known for known, others in platform_data("versions").get("also_installed_as", {}).items() if plain in others), plain)


def is_known(name: str) -> bool:
    """Return whether the knowledge covers a package, under any of its names."""
    return canonical(name) in newest_versions()


@functools.lru_cache(maxsize=64)
def releases_of(name: str) -> tuple[str, ...]:
    """Return the known releases of a package, oldest first."""
    listed = tuple(str(platform_data("versions").get("released", {}).get(name, "")).split())
    return listed or tuple(str(platform_data("versions")["newest"].get(name, "")).split())


@functools.lru_cache(maxsize=64)
def release_numbers(name: str) -> tuple[Version, ...]:
    """Return the known releases of a package as numbers, oldest first."""
    return tuple(version for version in map(parse_version, releases_of(name)) if version is not None)


@functools.lru_cache(maxsize=64)
def _rows(name: str) -> tuple[tuple[Version, ...], Sequence[Mapping[str, Any]]]:
    """Return the releases from which a package's needs changed, and the rows that say the needs from each on."""
    rows = platform_data("requirements")["packages"].get(name, ())
    return tuple(shortened(parse_version(str(row["from"])) or ()) for row in rows), rows


@functools.lru_cache(maxsize=4096)
def _needs(name: str, position: int) -> tuple[Need, ...]:
    row = _rows(name)[1][position]
    return tuple(
        Need(other, str(spec), admits, is_required)
        for key, is_required in (("requires", True), ("works_with", False))
        for other, spec in row.get(key, {}).items()
        if (admits := _admitting(str(spec))) is not None
    )


_admitting = functools.lru_cache(maxsize=4096)(admitting)


def needs_of(name: str, release: Version) -> tuple[Need, ...]:
    """Return what a release of a package needs of the other packages and of Python; nothing where that isn't known."""
    starts, _ = _rows(name)
    position = bisect.bisect_right(starts, shortened(release))
    return _needs(name, position - 1) if position else ()


@functools.lru_cache(maxsize=1)
def libraries() -> frozenset[str]:
    """Return the packages that others build on."""
    packages = platform_data("requirements")["packages"].values()
    return frozenset(other for rows in packages for row in rows for key in ("requires", "works_with") for other in row.get(key, ()))


@record(frozen=True, slots=True)
class Problem:
    """One thing that is wrong on a machine, or breaks with some versions: what happens, and what to change."""

    id: str
    severity: Severity
    effect: str
    change: str = ""
    only_with: str = ""
    """What must be used for it to matter; empty where every run is concerned."""
    sources: tuple[str, ...] = ()
    versions: VersionRange = VersionRange()
    """Those with which it is so, where they decide."""
    mps: str = ""
    """`unavailable` where no run reaches the GPU."""


@functools.lru_cache(maxsize=1)
def combinations() -> tuple[Problem, ...]:
    """Return the combinations of versions that are known to break something. Raises RuleError for a range that can't be read."""

    def read(row: Mapping[str, Any]) -> Problem:
        own = {"severity": Severity(row["severity"]), "versions": VersionRange.parse(row["versions"]), "only_with": row.get("with", "")}
        return Problem(**{**given_fields(Problem, row), **own})

    return tuple(map(read, platform_data("broken_combinations")))


def unavailable_with(versions: Mapping[str, Version]) -> Problem | None:
    """Return the combination with which MPS is unavailable to every run; None where it is available."""
    return next((one for one in combinations() if one.mps == "unavailable" and one.versions.matches(versions)), None)
