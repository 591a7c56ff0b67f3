"""Which arguments exist in which versions, from `rules/platform/arguments.yaml`."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Mapping
from dataclasses import field

from mpslint.core.knowledge import platform_data
from mpslint.core.record import record
from mpslint.core.versions import Version, VersionRange


@record(frozen=True, slots=True, eq=False)
class ArgumentFact:
    """What is known of one argument of one call."""

    owner: str
    name: str
    exists: VersionRange
    raises: str = "TypeError"
    use: str = ""
    """The argument to use instead in versions that removed it."""
    before: str = ""
    """The argument to use instead in versions before it existed."""
    drop: bool = False
    note: str = ""
    rewrite: Mapping[str, str] = field(default_factory=dict)
    """By its value as text: what to write instead; '' for nothing."""
    reason: str = ""
    """Why the new name is not safe where the project may run with versions that take the old one."""


@record(frozen=True, slots=True, eq=False)
class ArgumentFamily:
    """Whose facts hold for the calls of a dialect's role, besides those under a call's own name."""

    owner: str
    names: tuple[str, ...]
    not_names: tuple[str, ...]


@record(frozen=True, slots=True, eq=False)
class ArgumentFacts:
    """The facts by the call's name, then by argument; and the families, by role."""

    facts: Mapping[str, Mapping[str, ArgumentFact]]
    families: Mapping[str, ArgumentFamily]


@functools.lru_cache(maxsize=1)
def load_arguments() -> ArgumentFacts:
    """Return everything that is known of arguments."""
    data = dict(platform_data("arguments"))
    families = {
        role: ArgumentFamily(row["owner"], tuple(row.get("names", ["*"])), tuple(row.get("not_names", ())))
        for role, row in data.pop("families").items()
    }
    found = {
        owner: {name: ArgumentFact(owner, name, **{**fact, "exists": VersionRange.parse(fact["exists"])}) for name, fact in facts.items()}
        for owner, facts in data.items()
    }
    return ArgumentFacts(found, families)


def fact_of(role: str, names: tuple[str, ...], argument: str) -> ArgumentFact | None:
    """Return what is known of an argument of a call that a dialect reads in this role: under its own name, else of its family."""
    known = load_arguments()
    for name in names:
        fact = known.facts.get(name, {}).get(argument)
        if fact is not None:
            return fact
    family = known.families.get(role)
    if family is None or not any(_is_of(family, name) for name in names):
        return None
    return known.facts.get(family.owner, {}).get(argument)


def _is_of(family: ArgumentFamily, name: str) -> bool:
    fits = any(fnmatch.fnmatchcase(name, glob) for glob in family.names)
    return fits and not any(fnmatch.fnmatchcase(name, glob) for glob in family.not_names)


def exists(role: str, names: tuple[str, ...], argument: str, versions: Mapping[str, Version]) -> bool:
    """Return whether a call takes an argument in the Target's versions, as far as is known."""
    fact = fact_of(role, names, argument)
    return fact is None or fact.exists.matches(versions)
