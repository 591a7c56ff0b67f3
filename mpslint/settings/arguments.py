"""Which arguments exist in which versions, from `rules/platform/arguments.yaml`."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Mapping
from dataclasses import field
from typing import Any

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


@functools.lru_cache(maxsize=1)
def load_arguments() -> Mapping[str, Mapping[str, ArgumentFact]]:
    """Return everything that is known of arguments: by the call's name, then by argument."""
    data = {owner: facts for owner, facts in platform_data("arguments").items() if owner != "families"}
    return {
        owner: {name: ArgumentFact(owner, name, **{**fact, "exists": VersionRange.parse(fact["exists"])}) for name, fact in facts.items()}
        for owner, facts in data.items()
    }


def fact_of(role: str, names: tuple[str, ...], argument: str) -> ArgumentFact | None:
    """Return what is known of an argument of a call that a dialect reads in this role: under its own name, else of its family."""
    known = load_arguments()
    for name in names:
        fact = known.get(name, {}).get(argument)
        if fact is not None:
            return fact
    family = platform_data("arguments")["families"].get(role)
    return known[family["owner"]].get(argument) if family is not None and any(_is_of(family, name) for name in names) else None


def _is_of(family: Mapping[str, Any], name: str) -> bool:
    fits = any(fnmatch.fnmatchcase(name, glob) for glob in family.get("names", ["*"]))
    return fits and not any(fnmatch.fnmatchcase(name, glob) for glob in family.get("not_names", ()))


def exists(role: str, names: tuple[str, ...], argument: str, versions: Mapping[str, Version]) -> bool:
    """Return whether a call takes an argument in the Target's versions, as far as is known."""
    fact = fact_of(role, names, argument)
    return fact is None or fact.exists.matches(versions)
