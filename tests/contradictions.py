"""What our own knowledge says in two places, and says differently: rules of the same fact, claims about behaviours, operators in a table."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from mpslint.checks.known_calls import KnownCall
from mpslint.core.behaviours import behaviour_in, load_behaviours
from mpslint.core.versions import Version, VersionRange, format_version
from mpslint.rule.rule import Condition, Outcome, Rule, matching_outcomes

MOST_CORNERS = 20_000
"""Combinations of versions that two rules are compared in."""
_AT_LEAST, _AT_MOST = ("is", "at_least", "above"), ("is", "at_most", "below")
"""Comparisons that give a value a lower or an upper bound."""


class ContradictionError(Exception):
    """Two places say different things."""


def corners(ranges: Iterable[VersionRange]) -> Iterator[dict[str, Version]]:
    """Yield combinations of versions that tell ranges apart, up to MOST_CORNERS: each bound, and its neighbour on the other side."""
    values: dict[str, set[Version]] = {}
    for package, compare, bound in (term for one in ranges for term in one.terms):
        *head, last = bound
        below = (*head, last - 1, 99) if last else (*head[:-1], max(head[-1] - 1, 0), 99) if head else (0,)
        beside = {below} if compare in ("<", ">=") else {(*head, last + 1)} if compare in ("<=", ">") else {below, (*head, last + 1)}
        values.setdefault(package, set()).update(beside, {bound})
    combined = itertools.product(*(sorted(found) for found in values.values()))
    return (dict(zip(values, chosen, strict=True)) for chosen in itertools.islice(combined, MOST_CORNERS))


def refuse_contradictions(rules: Iterable[Rule], among: Sequence[Rule]) -> None:
    """Raise ContradictionError for the first of some rules that contradicts one of a second list, naming both, the versions and what to do."""
    for rule, other in itertools.product(rules, among):
        pairs = ((rule, other), (other, rule)) if rule.id != other.id else ()
        for versions, case, whole in (met for narrow, wide in pairs for met in _meetings(narrow, wide)):
            ours, theirs = (case, whole) if case in rule.outcomes else (whole, case)
            at = ", ".join(f"{package} {format_version(version)}" for package, version in sorted(versions.items()))
            raise ContradictionError(
                f"{rule.path}: {rule.id} calls {ours.severity.value} what {other.id} ({other.path}) calls {theirs.severity.value} "
                f"{f'with {at}' if at else 'in every version'}; say the same, or write versions that don't overlap"
            )


def _meetings(narrow: Rule, wide: Rule) -> Iterator[tuple[dict[str, Version], Outcome, Outcome]]:
    """Yield versions in which what a rule says of its cases isn't what another rule says of them, with both outcomes."""
    if not _is_case_of(narrow, wide):
        return
    for versions in corners(outcome.versions for outcome in (*narrow.outcomes, *wide.outcomes)):
        for case in matching_outcomes(narrow, versions):
            held = (*narrow.when, *case.when)
            whole = _first(wide, versions, held)
            if _first(narrow, versions, held) is case and whole is not None and whole.severity is not case.severity:
                yield versions, case, whole
            if not case.when and not case.unless:
                break


def _first(rule: Rule, versions: dict[str, Version], held: Sequence[Condition]) -> Outcome | None:
    """Return the first outcome of a rule in these versions whose conditions hold where some others do."""
    holding = (one for one in matching_outcomes(rule, versions) if _imply(held, one.when) and not _excepts(one.unless, held))
    return next(holding, None)


def _is_case_of(narrow: Rule, wide: Rule) -> bool:
    """Return whether a rule finds only what another finds, too, at the same places, and no exception keeps the two apart."""
    if not _implies(narrow.when[0], wide.when[0]):
        return False
    return _imply(narrow.when, wide.when) and not _excepts(narrow.unless, wide.when) and not _excepts(wide.unless, narrow.when)


def _excepts(exceptions: Sequence[Condition], held: Sequence[Condition]) -> bool:
    return any(_imply(held, (exception,)) for exception in exceptions)


def _imply(held: Sequence[Condition], asked: Sequence[Condition]) -> bool:
    return all(any(_implies(one, condition) for one in held) for condition in asked)


def _implies(narrow: Condition, wide: Condition) -> bool:
    """Return whether a condition holds only where another does."""
    if narrow.subject != wide.subject or not set(narrow.names) <= set(wide.names):
        return False
    if not _narrows(dict(narrow.comparisons), dict(wide.comparisons)):
        return False
    if not all(_narrows(dict(narrow.arguments.get(name, ())), dict(asked)) for name, asked in wide.arguments.items()):
        return False
    if wide.roles and not (narrow.roles and set(narrow.roles) <= set(wide.roles)):
        return False
    if narrow.subject == "check" and narrow.options != wide.options:  # options say what a check looks for
        return False
    rest = [one for one in fields(Condition) if one.name not in ("subject", "names", "comparisons", "arguments", "positional", "roles")]
    empty = Condition("", ())
    return all(getattr(wide, one.name) in (getattr(empty, one.name), getattr(narrow, one.name)) for one in rest)


def _narrows(narrow: dict[str, Any], wide: dict[str, Any]) -> bool:
    """Return whether a value that passes some comparisons passes others, as far as their numbers and lists say."""
    return all(narrow.get(key) == asked or _passes(key, asked, narrow) for key, asked in wide.items())


def _passes(key: str, asked: Any, narrow: dict[str, Any]) -> bool:
    if key in ("is", "may_be"):
        return "is" in narrow and set(_as_tuple(narrow["is"])) <= set(_as_tuple(asked))
    bounds = {"at_least": _AT_LEAST, "above": _AT_LEAST, "at_most": _AT_MOST, "below": _AT_MOST}.get(key, ())
    given = [(name, value) for name in bounds if name in narrow for value in _as_tuple(narrow[name])]
    sign = 1 if bounds == _AT_LEAST else -1
    strict = key in ("above", "below")
    return bool(given) and all(
        isinstance(value, int | float) and (sign * value > sign * asked or (value == asked and (not strict or name == key)))
        for name, value in given
    )


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


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
