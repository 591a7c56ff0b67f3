"""The tables of releases and of what each requires, made of the packages' metadata."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from .index import Index, Metadata

PYTHONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15")
MAC = {"sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "arm64", "os_name": "posix", "python_version": "3.12",
       "python_full_version": "3.12.0", "implementation_name": "cpython", "platform_python_implementation": "CPython"}  # fmt: skip
SOFT_EXTRAS = ("torch", "training", "train")
"""Extras without which a package installs, but trains nothing: what they ask for, its PyTorch part needs."""
_PLAIN = re.compile(r"\d+(\.\d+)*$")


def final_releases(releases: Iterable[str], oldest: str = "0") -> list[str]:
    """Return the releases that are neither builds nor post or pre-releases, oldest first."""
    plain = {release for release in releases if _PLAIN.match(release) and Version(release) >= Version(oldest)}
    return sorted(plain, key=Version)


def probes(releases: Sequence[str]) -> list[str]:
    """Return the first and last release of each minor version: within one, requirements hardly change (`unsettled` looks where they do)."""
    minors: dict[tuple[int, ...], list[str]] = {}
    for release in releases:
        minors.setdefault(Version(release).release[:2], []).append(release)
    return [one for row in minors.values() for one in dict.fromkeys((row[0], row[-1]))]


def thinned(releases: Sequence[str], most: int = 250) -> list[str]:
    """Return the releases, of a package that has very many only the last of each minor version."""
    if len(releases) <= most:
        return list(releases)
    return list({Version(release).release[:2]: release for release in releases}.values())


def needs(metadata: Metadata, tracked: Iterable[str], names: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return what a release requires of the tracked packages and of Python: `requires`, and `works_with` for its PyTorch part."""
    found: dict[str, dict[str, list[str]]] = {"requires": {}, "works_with": {}}
    if metadata.requires_python:
        found["requires"]["python"] = [metadata.requires_python]
    for written in metadata.requires:
        try:
            one = Requirement(written)
        except InvalidRequirement:
            continue
        plain = re.sub(r"[-_.]+", "-", one.name).lower()
        name = names.get(plain, plain)
        if name not in tracked or not str(one.specifier):
            continue
        for extra, key in (("", "requires"), *((extra, "works_with") for extra in SOFT_EXTRAS)):
            if one.marker is None or one.marker.evaluate({**MAC, "extra": extra}):
                found[key].setdefault(name, []).append(_least(one.specifier) if extra else str(one.specifier))
                break
    joined = {key: {name: _joined(specs) for name, specs in rows.items()} for key, rows in found.items()}
    joined["works_with"] = {name: spec for name, spec in joined["works_with"].items() if spec and joined["requires"].get(name) != spec}
    return {key: dict(sorted(rows.items())) for key, rows in joined.items() if rows}


def _least(specifier: SpecifierSet) -> str:
    """Return a specifier without its upper bounds: pip keeps those of an extra only for who asks for the extra."""
    return ",".join(str(clause) for clause in specifier if not clause.operator.startswith("<"))


def _joined(specs: Sequence[str]) -> str:
    """Return specifiers as one, its clauses in a fixed order."""
    return ",".join(sorted({clause for spec in specs for clause in str(SpecifierSet(spec)).split(",") if clause}))


def rows_of(known: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the needs by release as rows, each from the release on where they change."""
    rows: list[dict[str, Any]] = []
    for release in sorted(known, key=Version):
        row = known[release]
        if not rows or {key: value for key, value in rows[-1].items() if key != "from"} != row:
            rows.append({"from": release, **row})
    return rows


def python_range(release: str, available: Mapping[str, Sequence[str]]) -> str:
    """Return the Pythons for which a release has a wheel for a Mac, as a specifier; '' for a release without any."""
    fitting = [python for python in PYTHONS if release in available[python]]
    if not fitting:
        return ""
    after = f"{fitting[-1].split('.')[0]}.{int(fitting[-1].split('.')[1]) + 1}"
    return f"<{after},>={fitting[0]}"


def collect(
    index: Index, packages: Sequence[str], versions: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, list[str], dict[str, dict[str, Any]]]]:
    """Yield (package, releases, needs by release) of each package; the metadata is read only of minor versions that `known` lacks."""
    native, formerly, since = (versions.get(key, {}) for key in ("native", "formerly", "since"))
    names = {other: name for name, others in versions.get("also_installed_as", {}).items() for other in others}
    available = {name: {python: index.releases(name, python) for python in PYTHONS} for name in packages if name in native}
    found: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in packages}
    releases: dict[str, list[str]] = {}
    for name in packages:
        listed = {one for row in available[name].values() for one in row} if name in native else set(index.any_releases(name))
        if name in formerly:
            listed |= set(index.any_releases(formerly[name]))
        releases[name] = final_releases(listed, str(since.get(name, "0")))
    wanted = [(name, one) for name in packages for one in new_probes(releases[name], known.get(name, {}))]
    for python in reversed(PYTHONS):
        here = [(name, one) for name, one in wanted if name in native and one in available[name][python] and one not in found[name]]
        for name, one, metadata in index.metadata(here, python):
            row = needs(metadata, versions["newest"], names)
            row.setdefault("requires", {})["python"] = python_range(one, available[name])
            found[name][one] = row
    for name, one, metadata in index.metadata([pair for pair in wanted if pair[0] not in native]):
        found[name][one] = needs(metadata, versions["newest"], names)
    between = [
        (name, one) for name in packages if name not in native for one in unsettled(releases[name], known.get(name, {}), found[name])
    ]
    for name, one, metadata in index.metadata(between):
        found[name][one] = needs(metadata, versions["newest"], names)
    for name in packages:
        for row in found[name].values():
            row.get("requires", {}).pop(name, None)
        yield name, thinned(releases[name]), found[name]


def unsettled(releases: Sequence[str], known: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the releases between two of one minor version that require different things, where the later of the two was read just now."""
    read = {**known, **found}
    listed = sorted(read, key=Version)
    for first, last in pairwise(listed):
        if last in found and read[first] != read[last] and Version(first).release[:2] == Version(last).release[:2]:
            yield from (one for one in releases if Version(first) < Version(one) < Version(last))


def new_probes(releases: Sequence[str], known: Mapping[str, Any]) -> list[str]:
    """Return the releases to read: of the minor versions since the newest one of which something is known."""
    newest = max((Version(one).release[:2] for one in known), default=(0,))
    return [one for one in probes(releases) if Version(one).release[:2] >= newest and one not in known]
