"""The Target: the Mac and the versions that a check is made for, and where each of them came from."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import replace

from mpslint.finding import UsageError
from mpslint.knowledge import read_yaml, rules_folder
from mpslint.record import record
from mpslint.versions import Version, format_version, parse_version

MACOS = "macos"
NEWEST = "newest known"
_MEMORY = re.compile(r"(\d+)\s*(?:GB?|GiB?)?", re.IGNORECASE)
_CHIP = re.compile(r"(?:apple\s*)?(m\d+)\s*(pro|max|ultra)?", re.IGNORECASE)


@record(frozen=True, slots=True)
class Choice:
    """One version of the Target, and where it was read."""

    version: Version
    source: str


@record(frozen=True)
class Target:
    """What a check is made for. `choices` has one entry per package that the knowledge covers, and `macos`."""

    choices: Mapping[str, Choice]
    memory_gib: int | None = None
    """The Mac's memory, where somebody said."""
    chip: str = ""
    """`m1`, `m2 pro`, ..., where somebody said."""
    largest_batch: int | None = None
    """The largest micro-batch of the run that this Mac takes, where that was worked out."""

    @functools.cached_property
    def versions(self) -> dict[str, Version]:
        """The version of each package, and of macOS."""
        return {name: choice.version for name, choice in self.choices.items()}

    def describe(self, packages: tuple[str, ...]) -> str:
        """Return one line for a report: the Mac, then the packages asked for, grouped by where their version was read."""
        macos = self.choices[MACOS]
        mac = [f"macOS {format_version(macos.version)}", self.chip.upper(), f"{self.memory_gib} GB" if self.memory_gib else ""]
        groups: dict[str, list[str]] = {macos.source: [" ".join(filter(None, mac))]}
        for name in packages:
            choice = self.choices.get(name)
            if choice is not None:
                groups.setdefault(choice.source, []).append(f"{name} {format_version(choice.version)}")
        return "; ".join(f"{', '.join(names)} ({source})" for source, names in groups.items())


@functools.lru_cache(maxsize=1)
def newest_versions() -> Mapping[str, Version]:
    """Return the newest versions that the knowledge covers, by package (`rules/platform/versions.yaml`)."""
    data = read_yaml(rules_folder() / "platform" / "versions.yaml")
    found = {name: parse_version(str(text)) for name, text in data["newest"].items()}
    return {name: version for name, version in found.items() if version is not None}


def default_target() -> Target:
    """Return the Target of the newest versions that the knowledge covers."""
    return Target({name: Choice(version, NEWEST) for name, version in newest_versions().items()})


def with_versions(target: Target, given: Mapping[str, str], source: str) -> Target:
    """Return the Target with some versions replaced. Raises UsageError for an unknown package or a text that is no version."""
    choices = dict(target.choices)
    for name, text in given.items():
        if name not in choices:
            raise UsageError(f"unknown package {name!r} ({source}); known: {', '.join(sorted(choices))}")
        version = parse_version(text)
        if version is None:
            raise UsageError(f"{name}: {text!r} is not a version ({source}); write it like 2.13 or 4.57.1")
        choices[name] = Choice(version, source)
    return replace(target, choices=choices)


def with_mac(target: Target, memory: str = "", chip: str = "") -> Target:
    """Return the Target with the Mac's memory (`16GB`) and chip (`m2`) set. Raises UsageError for texts that are neither."""
    if memory:
        match = _MEMORY.fullmatch(memory.strip())
        if match is None or not int(match.group(1)):
            raise UsageError(f"memory: {memory!r} is not an amount; write it like 16GB")
        target = replace(target, memory_gib=int(match.group(1)))
    if chip:
        match = _CHIP.fullmatch(chip.strip())
        if match is None:
            raise UsageError(f"chip: {chip!r} is not an Apple chip; write it like m2 or 'm3 pro'")
        target = replace(target, chip=" ".join(part.lower() for part in match.groups() if part))
    return target
