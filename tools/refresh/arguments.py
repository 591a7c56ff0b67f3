"""`arguments.yaml` and `removed_names.yaml`: each bound checked against the wheels on both its sides, and what came or went since."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from . import rows
from .modules import defines, gone_modules, too_new
from .ranges import beside, change, clauses, short
from .signatures import exported, parameters
from .tables import parsed
from .wheels import Wheels

Holds = Callable[[str], "bool | None"]
"""Whether a release has something; None where that can't be read."""


@dataclass
class Rebuilt:
    """A table as it was rebuilt, and what is to be said about it."""

    text: str
    lines: list[str] = field(default_factory=list)
    checked: int = 0
    """Statements about a release that its wheel confirmed or refuted."""
    unread: int = 0
    """Statements that no wheel can confirm."""


@dataclass(frozen=True)
class Scope:
    """Which releases to read: those of the index, the newest that was known before, and whether every bound is read again."""

    releases: Mapping[str, Sequence[str]]
    before: Mapping[str, str]
    bounds: bool
    all: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The releases of every package, also of those that aren't read."""

    def of(self, written: str) -> list[str]:
        """Return the releases that say whether a range is true."""
        package, bounds = clauses(written)
        listed = self.releases.get(package, ())
        newest = list(listed[-1:])
        return list(dict.fromkeys([*(beside(bounds, listed) if self.bounds else []), *newest]))


def arguments(path: Path, wheels: Wheels, scope: Scope) -> Rebuilt:
    """Return `arguments.yaml` with bounds as the wheels have them, and with the arguments that the newest releases took away or added."""
    done = Rebuilt(path.read_text(encoding="utf-8"))
    for owner, entries in parsed(done.text).items():
        if owner == "families":
            continue
        package = clauses(next(iter(entries.values()))["exists"])[0]
        taken = _cached(lambda release, owner=owner, package=package: parameters(wheels, package, release, owner.rsplit(".", 1)[-1]))
        for name, entry in entries.items():
            _check_row(done, owner, name, entry, scope, lambda release, name=name, taken=taken: _in(name, taken(release)))
        if scope.before.get(package) and scope.releases.get(package):
            old, new = taken(scope.before[package]), taken(scope.releases[package][-1])
            _changes(done, owner, package, (old, new), entries, _since(scope, package), taken)
    return done


def removed_names(path: Path, wheels: Wheels, scope: Scope) -> Rebuilt:
    """Return `removed_names.yaml` with bounds as the wheels have them, and with the names that the newest releases took away."""
    done = Rebuilt(path.read_text(encoding="utf-8"))
    names = parsed(done.text)["names"]
    has: dict[str, Callable[[str], frozenset[str] | None]] = {}
    for full, entry in names.items():
        library, name = full.split(".", 1)
        if library.replace("_", "-") != clauses(entry["exists"])[0]:
            done.unread += 1
            continue
        has.setdefault(library, _cached(lambda release, library=library: exported(wheels, library, release) or None))
        module = entry.get("in")
        holds = (
            partial(defines, wheels, library, module, name)
            if module
            else lambda release, name=name, taken=has[library]: _in(name, taken(release))
        )
        _check_row(done, "names", full, entry, scope, holds)
    for library, taken in has.items():
        package = library.replace("_", "-")
        if scope.before.get(package) and scope.releases.get(package):
            newest = scope.releases[package][-1]
            if newest != scope.before[package]:
                done.lines += [*gone_modules(wheels, package, scope.before[package], newest), *too_new(wheels, package, newest, scope.all)]
            old, new = taken(scope.before[package]), taken(newest)
            for name in sorted((old or frozenset()) - (new or old or frozenset())):
                if f"{library}.{name}" not in names and not name.startswith("_"):
                    first = change(_since(scope, package), lambda release, name=name, taken=taken: _in(name, taken(release)))
                    exists = f"{package} < {short(first or scope.releases[package][-1])}"
                    done.text = rows.with_row(done.text, "names", f"{library}.{name}", exists)
                    done.lines.append(f"{library}.{name}: removed, {exists}; say what replaces it")
    return done


def _changes(
    done: Rebuilt, owner: str, package: str, sides: tuple[frozenset[str] | None, frozenset[str] | None],
    entries: Mapping[str, Any], listed: Sequence[str], taken: Callable[[str], frozenset[str] | None],
) -> None:  # fmt: skip
    """Add rows for the arguments that are on one side only of the releases since the last refresh."""
    old, new = sides
    if old is None or new is None:
        return
    for name in sorted((old ^ new) - set(entries)):
        first = change(listed, lambda release, name=name: _in(name, taken(release)))
        if first is None:
            continue
        exists = f"{package} {'<' if name in old else '>='} {short(first)}"
        done.text = rows.with_row(done.text, owner, name, exists)
        done.lines.append(f"{owner}.{name}: {'removed' if name in old else 'new'}, {exists}")


def _check_row(done: Rebuilt, owner: str, name: str, entry: Mapping[str, Any], scope: Scope, holds: Holds) -> None:
    """Compare what a row says of releases with their wheels, and correct its bound where they differ."""
    written = str(entry["exists"])
    package, bounds = clauses(written)
    read = {release: holds(release) for release in scope.of(written)}
    known = {release: has for release, has in read.items() if has is not None}
    done.checked, done.unread = done.checked + len(known), done.unread + len(read) - len(known)
    wrong = [release for release, has in known.items() if has != bounds.contains(release)]
    if not wrong:
        return
    said = f"{owner}.{name}".removeprefix("names.")
    moved = _moved(written, package, scope.releases[package], holds)
    text = rows.with_bound(done.text, owner, name, written, moved) if moved is not None else None
    done.text = text or done.text
    states = ", ".join(f"{release} {'has' if known[release] else 'lacks'} it" for release in wrong)
    done.lines.append(f"{said}: {states}, against {written}; {f'now {moved}' if text else 'correct it by hand'}")


def _moved(written: str, package: str, releases: Sequence[str], holds: Holds) -> str | None:
    """Return a range of one bound with the bound where the wheels change; None for other ranges, or where nothing changes."""
    _, bounds = clauses(written)
    if len(bounds) != 1 or next(iter(bounds)).operator not in ("<", ">="):
        return None
    operator = next(iter(bounds)).operator
    readable = [one for one in releases if holds(one) is not None] if len(releases) < 4 else releases
    first = change(readable, holds)
    return f"{package} {operator} {short(first)}" if first is not None else None


def _since(scope: Scope, package: str) -> list[str]:
    listed = list(scope.releases.get(package, ()))
    before = scope.before.get(package, "")
    return listed[listed.index(before) :] if before in listed else listed[-2:]


def _in(name: str, taken: frozenset[str] | None) -> bool | None:
    return None if taken is None else name in taken


def _cached(function: Callable[[str], Any]) -> Callable[[str], Any]:
    kept: dict[str, Any] = {}

    def once(release: str) -> Any:
        if release not in kept:
            kept[release] = function(release)
        return kept[release]

    return once


def rules_on(rules: Path, checks: Path, table: str) -> Iterator[str]:
    """Yield the rules that rest on a table: their text names it, or the Python check that they ask does."""
    read = re.compile(rf'platform_data\("{table}"\)|platform/{table}\.yaml')
    asking = {path.stem for path in checks.glob("*.py") if read.search(path.read_text(encoding="utf-8"))}
    for path in sorted(rules.glob("*/MPS*.yaml")):
        text = path.read_text(encoding="utf-8")
        if f"table: {table}" in text or f"{table}.yaml" in text or any(re.search(rf"check: {name}\b", text) for name in asking):
            yield path.name.split("-")[0]
