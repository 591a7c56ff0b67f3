"""What our own tables say twice, and say differently: claims about behaviours, operators of one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mpslint.checks.known_calls import KnownCall
from mpslint.core.knowledge import behaviour_in, load_behaviours
from mpslint.core.versions import VersionRange, corners, format_version


class ContradictionError(Exception):
    """Two places say different things."""


def refuse_false_claims(claims: Mapping[str, str], versions: VersionRange) -> None:
    """Raise ContradictionError where a claim (`{precision.trainer.fp16: raises}`) isn't what the behaviours say in some versions of a range."""
    for name, claimed in claims.items():
        rows = load_behaviours(name)
        for given in corners([versions, *(row.versions for row in rows)]):
            if versions.matches(given) and (said := behaviour_in(name, given)).does != claimed:
                at = ", ".join(f"{package} {format_version(version)}" for package, version in sorted(given.items()))
                raise ContradictionError(f"it claims that {name} {claimed}, but the behaviours say {said.does} with {at}")


def refuse_impossible_operators(entries: Iterable[KnownCall]) -> None:
    """Raise ContradictionError for an operator of which a table says that it is missing and, of the same release and pass, what it does."""
    entries = list(entries)
    missing = [entry for entry in entries if entry.kind == "missing" and not entry.condition.arguments]
    for entry in missing:
        for other in entries:
            names = set(entry.condition.names).intersection(other.condition.names)
            if not names or other.kind in ("missing", "rejects") or (entry.trains and not other.trains):
                continue
            both = VersionRange(entry.versions.terms + other.versions.terms)
            if (given := next(filter(both.matches, corners([both])), None)) is not None:
                at = ", ".join(f"{package} {format_version(version)}" for package, version in given.items())
                raise ContradictionError(f"{min(names)} is missing and {other.kind} at once with {at}")
