"""The Target: the Mac and the versions that a check is made for, and where each of them came from."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

from mpslint.finding import UsageError
from mpslint.knowledge import read_yaml, rules_folder
from mpslint.versions import Version, format_version, parse_version

MACOS = "macos"
NEWEST = "newest known"


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing about the Target, and where it was read."""

    version: Version
    source: str


@dataclass(frozen=True)
class Target:
    """What a check is made for. `choices` has one entry per package that the knowledge covers, and `macos`."""

    choices: Mapping[str, Choice]
    memory_gib: int | None = None
    memory_source: str = ""
    chip: str = ""
    chip_source: str = ""
    installed: frozenset[str] = field(default=frozenset())

    @functools.cached_property
    def versions(self) -> dict[str, Version]:
        """The version of each package, and of macOS."""
        return {name: choice.version for name, choice in self.choices.items()}

    def describe(self, packages: list[str]) -> str:
        """Return one line for a report: the Mac, then the packages asked for, each with where its version came from."""
        parts = [f"macOS {format_version(self.versions[MACOS])}"]
        if self.chip:
            parts.append(self.chip)
        if self.memory_gib:
            parts.append(f"{self.memory_gib} GB")
        groups: dict[str, list[str]] = {}
        for name in packages:
            choice = self.choices.get(name)
            if choice is not None:
                groups.setdefault(choice.source, []).append(f"{name} {format_version(choice.version)}")
        return "; ".join([", ".join(parts), *(f"{', '.join(names)} ({source})" for source, names in groups.items())])


@functools.lru_cache(maxsize=1)
def newest_versions() -> Mapping[str, Version]:
    """Return the newest versions that the knowledge covers, by package (`rules/platform/versions.yaml`)."""
    path = rules_folder() / "platform" / "versions.yaml"
    found = {name: parse_version(str(text)) for name, text in read_yaml(path)["newest"].items()}
    return {name: version for name, version in found.items() if version is not None}


def default_target() -> Target:
    """Return the Target of the newest versions that the knowledge covers."""
    return Target({name: Choice(version, NEWEST) for name, version in newest_versions().items()})


def with_versions(target: Target, given: Mapping[str, str], source: str) -> Target:
    """Return the Target with some versions replaced. Raises UsageError for a text that is no version."""
    choices = dict(target.choices)
    for name, text in given.items():
        version = parse_version(text)
        if version is None:
            raise UsageError(f"{name}: {text!r} is not a version; write it like 2.13 or 4.57.1")
        choices[name] = Choice(version, source)
    return Target(choices, target.memory_gib, target.memory_source, target.chip, target.chip_source, target.installed)
