"""Rules that say opposite things about the same fact: the same conditions, versions that overlap, and another severity."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any

from mpslint.core.finding import RuleError
from mpslint.core.versions import Version, corners, format_version
from mpslint.rule.rule import Condition, Outcome, Rule, matching_outcomes

_AT_LEAST, _AT_MOST = ("is", "at_least", "above"), ("is", "at_most", "below")
"""Comparisons that give a value a lower or an upper bound."""


def refuse_contradictions(rules: Iterable[Rule], among: Sequence[Rule]) -> None:
    """Raise RuleError for the first of some rules that contradicts one of a second list, naming both, the versions and what to do."""
    for rule, other in itertools.product(rules, among):
        pairs = ((rule, other), (other, rule)) if rule.id != other.id else ()
        for versions, case, whole in (met for narrow, wide in pairs for met in _meetings(narrow, wide)):
            ours, theirs = (case, whole) if case in rule.outcomes else (whole, case)
            at = ", ".join(f"{package} {format_version(version)}" for package, version in sorted(versions.items()))
            raise RuleError(
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
