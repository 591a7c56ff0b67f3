"""The Target: the Mac and the versions that a check is made for, and where each of them came from."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mpslint.core.finding import UsageError
from mpslint.core.record import record
from mpslint.core.versions import Said, Version, VersionRange, format_version, in_words, parse_version
from mpslint.target.packages import libraries, needs_of, newest_versions, older_than_read
from mpslint.target.requirement import PYTHON, Requirement, Uninstallable
from mpslint.target.resolve import NEWEST, VersionChoice, is_development, resolve

MACOS = "macos"
_MEMORY = re.compile(r"(\d{1,6})\s*(?:GB?|GiB?)?", re.IGNORECASE)
_CHIP = re.compile(r"(?:apple\s*)?(m\d{1,3})\s*(pro|max|ultra)?", re.IGNORECASE)


@record(frozen=True)
class Target:
    """What a check is made for. `choices` has one entry per package that the knowledge covers, and `macos`."""

    choices: Mapping[str, VersionChoice]
    memory_gib: int | None = None
    """The Mac's memory, where somebody said."""
    chip: str = ""
    """`m1`, `m2 pro`, ..., where somebody said."""
    largest_batch: int | None = None
    """The largest micro-batch of the run that this Mac takes, where that was worked out."""
    is_only_machine: bool = False
    """Whether no other machine runs the code, so that a fix need not keep what it does there."""
    stubs: tuple[Path, ...] = ()
    """Folders of stubs of the user's own, which say what libraries do."""
    uninstallable: tuple[Uninstallable, ...] = ()
    """What can't be installed on a Mac of what the project asks for."""

    @functools.cached_property
    def versions(self) -> dict[str, Version]:
        """The version of each package, and of macOS."""
        return {name: choice.version for name, choice in self.choices.items()}

    def shown(self, name: str) -> str:
        """Return a version as a message says it: its numbers, and whether they are a guess.

        The header of a report says of the libraries where their versions come from, and of an application it doesn't.
        """
        choice = self.choices[name]
        deduced = f" ({choice.source})" if choice.is_deduced and name not in libraries() else ""
        return format_version(choice.version) + choice.doubt + deduced

    @functools.cached_property
    def conflicts(self) -> tuple[str, ...]:
        """What pip refuses to install of the versions that one place asks for, in words: two files may be two ways to install."""
        asked = {name: choice for name, choice in self.choices.items() if choice.is_asked}
        return tuple(
            f"{name} {choice.shown} ({choice.source}) requires {need.name} {need.spec}, "
            f"not {asked[need.name].shown} ({asked[need.name].source})"
            for name, choice in asked.items()
            for need in needs_of(name, choice.version)
            if need.is_required and need.name != PYTHON and need.name in asked and not need.admits(asked[need.name].version)
            if choice.source == asked[need.name].source
        )

    @functools.cached_property
    def newer(self) -> Mapping[str, Version]:
        """The packages whose version is newer than any that the knowledge covers, with the newest that it does."""
        # A later patch release is no news, nor is a later release of one macOS.
        compared = {name: (known, 1 if name == MACOS else 2) for name, known in newest_versions().items()}
        return {name: known for name, (known, parts) in compared.items() if self.versions.get(name, ())[:parts] > known[:parts]}

    @functools.cached_property
    def older(self) -> Mapping[str, Version]:
        """The packages whose version is older than those that the rules were read in, with the first of these."""
        return older_than_read(self.versions)

    def reach(self, versions: VersionRange) -> str:
        """Return how far an outcome for a range is known, ` Known up to torch 2.15.`; '' where the Target lies within.

        That is so for an outcome without a bound on the side where the Target is beyond the knowledge.
        """
        named = versions.packages
        newer = _unbounded(named or ("torch",), versions, ("<", "<=", "=="), self.newer)
        # A range that ends where the known releases begin was read in older ones.
        ends = {package for package, sign, number in versions.terms if sign in ("<", "<=") and number <= self.older.get(package, ())}
        older = _unbounded([name for name in named if name not in ends], versions, (">", ">=", "=="), self.older)
        return "".join(f" Known {words} {', '.join(found)}." for words, found in (("up to", newer), ("from", older)) if found)

    def describe(self, packages: tuple[str, ...]) -> str:
        """Return one line for a report: the Mac, then the packages asked for, grouped by where their version was read."""
        return in_words(self.said_of(packages))

    def said_of(self, packages: tuple[str, ...]) -> tuple[Said, ...]:
        """Return what a report says of the Mac and of packages."""
        macos = self.choices[MACOS]
        mac = [f"macOS {format_version(macos.version)}", self.chip.upper(), f"{self.memory_gib} GB" if self.memory_gib else ""]
        packages = tuple(name for name in packages if name in self.choices)
        return (
            (MACOS, " ".join(filter(None, mac)), macos.source + self._beyond(MACOS)),
            *((name, f"{name} {self.choices[name].shown}", self.choices[name].source + self._beyond(name)) for name in packages),
        )

    def _beyond(self, name: str) -> str:
        """Return what is said of a version that is newer or older than what the rules were read in; '' of another."""
        if name in self.newer:
            return f", newer than {format_version(self.newer[name])}, the newest known"
        return f", older than {format_version(self.older[name])}, the oldest that the rules were read in" if name in self.older else ""


def _unbounded(packages: Iterable[str], versions: VersionRange, signs: tuple[str, ...], known: Mapping[str, Version]) -> list[str]:
    """Return the packages that a range doesn't bound by any of these signs, each with the end of what is `known` of it, if it has one."""
    bounded = {package for package, sign, _ in versions.terms if sign in signs}
    return [f"{name} {format_version(known[name])}" for name in packages if name in known and name not in bounded]


def default_target() -> Target:
    """Return the Target of the newest versions that the knowledge covers."""
    return Target({name: VersionChoice(version, NEWEST) for name, version in newest_versions().items()})


def with_versions(target: Target, given: Mapping[str, str], source: str) -> Target:
    """Return the Target with some versions replaced. Raises UsageError for an unknown package or a text that is no version."""
    choices = dict(target.choices)
    for name, text in given.items():
        if name not in choices:
            raise UsageError(f"unknown package {name!r} ({source}); known: {', '.join(sorted(choices))}")
        version = parse_version(text)
        if version is None:
            raise UsageError(f"{name}: {text!r} is not a version ({source}); write it like 2.13 or 4.57.1")
        choices[name] = VersionChoice(version, source, text if is_development(text) else "", is_asked=True)
    return replace(target, choices=choices)


def resolved(target: Target, asked: Sequence[Requirement], installed: Mapping[str, tuple[str, str]]) -> Target:
    """Return the Target with the versions of one installable environment, for what is asked for and what an environment holds."""
    return replace(target, choices=resolve(asked, installed)) if asked or installed else target


def given(versions: Mapping[str, str], source: str) -> list[Requirement]:
    """Return versions that somebody gives as requirements. Raises UsageError for an unknown package or a text that is no version."""
    with_versions(default_target(), versions, source)
    return [Requirement(name, f"=={text.strip().removeprefix('v')}", source) for name, text in versions.items()]


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
