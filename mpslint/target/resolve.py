"""One installable environment out of what a project asks for: what is not pinned is the newest that the pinned releases allow."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.core.versions import Version, format_version, parse_version
from mpslint.target.packages import libraries, needs_of, newest_versions, release_numbers, unavailable_with
from mpslint.target.requirement import Requirement
from mpslint.target.specifier import admitting, exact_version

NEWEST = "newest known"
_DEDUCED = "newest that fits "
OLDEST = "oldest known"
"""Where all known releases need something newer than is pinned: what fits is older than they are."""
_MOST_STEPS = 2000
"""Releases that are tried before the search for a set that fits together is given up; real projects take a few dozen."""
_MOST_ROUNDS = 4
"""How often packages that nothing names are fitted to those among them that gave way."""


@record(frozen=True, slots=True)
class VersionChoice:
    """One version of the Target, and where it comes from."""

    version: Version
    source: str
    text: str = ""
    """The version as it was written, where that says more than its numbers: a nightly build."""
    is_asked: bool = False
    """A person asks for it, in a file or an option; no lock file, environment or table does."""
    commit: str = ""
    """The commit that is asked for, where the version is only a guess for it."""

    @property
    def shown(self) -> str:
        """The version as a person reads it."""
        return (self.text or format_version(self.version)) + self.doubt

    @property
    def doubt(self) -> str:
        """What is said behind a version that is a guess; '' of another."""
        return f" (a guess for commit {self.commit})" if self.commit else ""

    @property
    def is_deduced(self) -> bool:
        """Whether only the versions of other packages say which one it is."""
        return self.source.startswith(_DEDUCED)


@record(slots=True, eq=False)
class _Package:
    """What may be chosen for one package: its releases that are left, oldest first, and what left them."""

    name: str
    releases: list[Version]
    source: str = NEWEST
    text: str = ""
    is_pinned: bool = False
    """Exactly one version was written."""
    is_locked: bool = False
    """That was a lock file."""
    is_asked: bool = False
    """The project names the package."""
    installed: Version | None = None
    """What an environment holds, where the project leaves it open."""
    environment: str = ""
    """Which environment that is."""
    commit: str = ""
    """The commit that the project asks for, of which no version is known."""
    is_branch: bool = False
    """The project asks for the newest state of a repository."""

    def candidates(self) -> Iterator[Version]:
        """Yield what may be chosen: what is installed, then the newest first."""
        if self.installed is not None:
            yield self.installed
        yield from reversed(self.releases)


def resolve(asked: Sequence[Requirement], installed: Mapping[str, tuple[str, str]]) -> dict[str, VersionChoice]:
    """Return a version of each package, and of Python and macOS.

    `asked` comes in order of how much it decides: what contradicts an earlier requirement has no effect. `installed` is what an
    environment holds, which counts where it fits. A package that nothing names takes the newest release that fits the others.
    """
    raised = _raised(asked)
    asked = [replace(one, spec="") if _is_upgraded(one, asked[:index], raised) else one for index, one in enumerate(asked)]
    packages = {name: _limited(name, [one for one in asked if one.name == name]) for name in newest_versions()}
    for name, (version, source) in installed.items():
        _prefer(packages[name], version, source)
    for package in packages.values():
        if package.is_branch and not package.is_pinned and package.installed is None:
            package.releases, package.is_pinned = package.releases[-1:], True
    # What libraries only rest on, such as tokenizers, gives way to them, even where it is installed. An application that is yet to be
    # installed is installed in its newest release, with libraries that fit it.
    supports = platform_data("packages")["supports"]
    ordered = sorted(
        packages.values(),
        key=lambda one: (not one.is_pinned, not one.is_asked, one.installed is not None or one.name in libraries(), one.name in supports),
    )
    named = [one for one in ordered if one.is_pinned or one.is_asked or one.installed is not None]
    of_people = {one.name for one in named if one.is_pinned or one.is_asked}
    chosen = _search(named, {}, [_MOST_STEPS]) or _first_of_people(named, of_people)
    limited = {one.name for one in named if one.name in of_people and (one.is_pinned or one.source != NEWEST)}
    _fit_others([one for one in ordered if one not in named], chosen, limited)
    first = {one.name: position for position, one in enumerate(named)}
    by_weight = {name: chosen[name] for name in sorted(chosen, key=lambda name: (first.get(name, len(first)), name not in libraries()))}
    return {name: _choice(package, by_weight, of_people) for name, package in packages.items()}


def _is_upgraded(one: Requirement, later: Iterable[Requirement], raised: Collection[str]) -> bool:
    """Return whether a later command upgrades a package (`pip install -U trl`, or one that is `raised` above what a file pins) whose
    newest release needs another version of this one."""
    version = parse_version(exact_version(one.spec) or "")
    return version is not None and any(
        (other.is_fresh and other.command > 0 < one.command and (other.source, other.command) != (one.source, one.command))
        or (one.command == 0 < other.command and other.name in raised)
        for other in later
        if any(
            need.name == one.name and need.is_required and not need.admits(version)
            for need in needs_of(other.name, newest_versions()[other.name])
        )
    )


def _raised(asked: Sequence[Requirement]) -> frozenset[str]:
    """Return the packages that an install command takes from the release to which a file pins them to another one."""
    pins = {one.name: version for one in asked if not one.command and (version := parse_version(exact_version(one.spec) or ""))}
    asking = ((one.name, admitting(one.spec)) for one in asked if one.command and one.name in pins and not exact_version(one.spec))
    return frozenset(name for name, admits in asking if admits is not None and not admits(pins[name]))


def _limited(name: str, asked: Iterable[Requirement]) -> _Package:
    """Return what the requirements on a package leave of its releases."""
    package = _Package(name, list(release_numbers(name)))
    for one in asked:
        package.is_asked = package.is_asked or not one.is_constraint
        package.commit = package.commit or one.commit
        package.is_branch = package.is_branch or one.is_branch
        if package.is_pinned or one.is_fresh or one.is_branch:
            break
        exact = exact_version(one.spec)
        admits = admitting(one.spec)
        if exact is not None:
            version = parse_version(exact)
            is_open = len(package.releases) == len(release_numbers(name))
            if version is not None and (is_open or any(map(admits or bool, package.releases))):
                text = exact if is_development(exact) else ""
                package.releases, package.source, package.text, package.is_pinned = [version], one.source, text, True
                package.is_locked, package.commit = one.is_locked, ""
            continue
        old = _before_all(one.spec, name) if len(package.releases) == len(release_numbers(name)) else None
        if old is not None:
            package.releases, package.source, package.is_pinned, package.is_locked = [old], one.source, True, one.is_locked
            continue
        left = [release for release in package.releases if admits is not None and admits(release)]
        if left and left[-1] != package.releases[-1]:
            package.source = one.source
        package.releases = left or package.releases
    return package


def _before_all(spec: str, name: str) -> Version | None:
    """Return the release that a range of releases stands for where all of them are older than the known ones: `==1.3.*`, `>=1.4,<1.6`."""
    admits, known = admitting(spec), release_numbers(name)
    named = [
        version
        for version in map(parse_version, re.findall(r"(?<![\d.])\d+(?:\.\d+)+", spec))
        if version is not None and version < known[0]
    ]
    if admits is None or not named or any(map(admits, known)):
        return None
    return max((version for version in named if admits(version)), default=None)


def is_development(text: str) -> bool:
    """Return whether a version is that of a nightly or another state before a release."""
    return any(mark in text for mark in ("dev", "a0", "git")) or "rc" in text


def _prefer(package: _Package, version: str, source: str) -> None:
    """Take the installed version where the project leaves it open."""
    number = parse_version(version)
    oldest, newest = package.releases[0], package.releases[-1]
    is_limited = package.source != NEWEST and number is not None and not oldest <= number <= newest
    if number is not None and not package.is_pinned and not is_limited:
        package.installed, package.environment = number, source
        package.text = version if is_development(version) else ""


def _fits(name: str, release: Version, chosen: Mapping[str, Version], only_required: bool = False) -> bool:
    """Return whether a release goes together with what is chosen already, in both directions."""
    for need in needs_of(name, release):
        if need.name in chosen and not need.admits(chosen[need.name]) and (need.is_required or not only_required):
            return False
    for other, version in chosen.items():
        for need in needs_of(other, version):
            if need.name == name and not need.admits(release) and (need.is_required or not only_required):
                return False
    unavailable = unavailable_with({**chosen, name: release})
    return unavailable is None or name not in unavailable.versions.packages


def _search(waiting: Sequence[_Package], chosen: dict[str, Version], steps: list[int]) -> dict[str, Version] | None:
    """Return the newest releases that all go together, those of the first packages above all; None where there are none."""
    if not waiting:
        return chosen
    first, *others = waiting
    for release in first.candidates():
        steps[0] -= 1
        if steps[0] < 0:
            return None
        with_it = {**chosen, first.name: release}
        if first.is_pinned or (_fits(first.name, release, chosen) and _leaves_room(first.name, release, others, with_it)):
            found = _search(others, with_it, steps)
            if found is not None:
                return found
    return None


def _leaves_room(name: str, release: Version, others: Sequence[_Package], chosen: Mapping[str, Version]) -> bool:
    """Return whether each package that a release needs has a release left that fits: else thousands would be tried in vain."""
    needed = {need.name for need in needs_of(name, release)}
    return all(any(_fits(one.name, candidate, chosen) for candidate in one.candidates()) for one in others if one.name in needed)


def _greedy(waiting: Sequence[_Package], chosen: dict[str, Version]) -> dict[str, Version]:
    """Return a release of each package where not all can go together: the newest that fits those before it, else the newest."""
    for package in waiting:
        fitting = (release for release in package.candidates() if _fits(package.name, release, chosen))
        chosen[package.name] = next(fitting, package.releases[-1])
    return chosen


def _first_of_people(named: Sequence[_Package], of_people: Collection[str]) -> dict[str, Version]:
    """Return a set where what an environment holds doesn't go with what people ask for, whose packages then fit each other."""
    asked = [one for one in named if one.name in of_people]
    chosen = _search(asked, {}, [_MOST_STEPS]) or _greedy(asked, {})
    return _greedy([one for one in named if one not in asked], chosen)


def _fit_others(others: Sequence[_Package], chosen: dict[str, Version], limited: Collection[str]) -> None:
    """Choose the packages that nothing names: the newest release that fits.

    If a library doesn't fit in its newest release, the older one limits the other packages. Applications such as axolotl limit none,
    and only what people limit to some releases limits them: their installation replaces what an environment merely holds.
    """
    named, limiting = dict(chosen), dict(chosen)
    asked = {name: version for name, version in chosen.items() if name in limited}
    for _ in range(_MOST_ROUNDS):
        before = dict(limiting)
        for package in others:
            around = {name: version for name, version in limiting.items() if name != package.name}
            surroundings = (around, named) if package.name in libraries() else (asked,)
            chosen[package.name] = _newest_that_fits(package, surroundings)
            if chosen[package.name] != package.releases[-1] and package.name in libraries():
                limiting[package.name] = chosen[package.name]
        if limiting == before:
            return


def _newest_that_fits(package: _Package, surroundings: Sequence[Mapping[str, Version]]) -> Version:
    """Return the newest release that fits the first of several surroundings that leave one, if need be only as far as pip insists."""
    for only_required in (False, True):
        for around in surroundings:
            for release in reversed(package.releases):
                if _fits(package.name, release, around, only_required):
                    return release
    return package.releases[0] if _is_too_new(package, surroundings[-1]) else package.releases[-1]


def _is_too_new(package: _Package, chosen: Mapping[str, Version]) -> bool:
    """Return whether the newest release needs newer packages than are chosen: what fits is then older than all known releases."""
    needs = (need for need in needs_of(package.name, package.releases[-1]) if need.name in chosen)
    return any(not need.admits(chosen[need.name]) and need.admits(release_numbers(need.name)[-1]) for need in needs if need.is_required)


def _choice(package: _Package, chosen: Mapping[str, Version], asked: Collection[str]) -> VersionChoice:
    version = chosen[package.name]
    if version == package.installed:
        return VersionChoice(version, package.environment, package.text)
    if version == package.releases[-1]:
        is_asked = package.is_pinned and not (package.is_locked or package.is_branch)
        return VersionChoice(version, package.source, package.text, is_asked, package.commit)
    because = _because(package, chosen, asked)
    if not _fits(package.name, version, {name: other for name, other in chosen.items() if name in asked}, only_required=True):
        return VersionChoice(version, OLDEST, commit=package.commit)
    return VersionChoice(version, f"{_DEDUCED}{because}" if because else NEWEST, commit=package.commit)


def _because(package: _Package, chosen: Mapping[str, Version], asked: Collection[str]) -> str:
    """Return the choice that keeps a package from its newest release: one that is asked for, even where it only keeps back the package
    that does; else the first."""
    blocking = list(_blocking(package.name, package.releases[-1], chosen))
    behind = (other for one in blocking for other in _blocking(one, release_numbers(one)[-1], chosen) if other != package.name)
    other = next((one for one in (*blocking, *behind) if one in asked), next(iter(blocking), ""))
    return f"{other} {format_version(chosen[other])}" if other else ""


def _blocking(name: str, release: Version, chosen: Mapping[str, Version]) -> Iterator[str]:
    """Yield the packages whose choice a release doesn't go together with."""
    return (other for other, version in chosen.items() if other != name and not _fits(name, release, {other: version}))
