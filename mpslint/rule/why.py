"""Why a rule says nothing about a program: the versions, the condition or the value that keeps it silent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mpslint.core.inert import json_text
from mpslint.core.knowledge import read_yaml
from mpslint.core.versions import format_version
from mpslint.rule.judge import Match, candidates, conditions_hold, obstacle, spoken_of
from mpslint.rule.rule import Condition, Rule, matching_outcomes
from mpslint.settings.evidence import Evidence
from mpslint.settings.setting import Setting

MOST_PLACES = 5
"""Places of which is said what stands against each; a long file has hundreds of calls of one name."""

LONGEST = 120
"""Characters that are shown of a condition."""


def why_silent(rule: Rule, evidence: Evidence) -> Iterator[str]:
    """Yield, one line each, what keeps a rule from speaking of a program; where it speaks, the place of that."""
    versions, first = evidence.target.versions, rule.when[0]
    if not matching_outcomes(rule, versions):
        asked = " or ".join(dict.fromkeys(str(outcome.versions) for outcome in rule.outcomes))
        held = (name for outcome in rule.outcomes for name in outcome.versions.packages)
        assumed = ", ".join(f"{name} {format_version(versions[name])}" for name in dict.fromkeys(held) if name in versions)
        yield f"it speaks of {asked}; here {assumed or 'none of these versions'} counts"
        return
    if evidence.is_for_other_processors and not rule.everywhere:
        yield "the file is for other processors than a Mac's"
        return
    written = _written(rule)
    places = list(candidates(first, evidence))
    if not places:
        yield f"`{written[id(first)]}` holds nowhere: {_instead(first, evidence)}"
    for match in places[:MOST_PLACES]:
        yield f"{_place(match.span.start, evidence)}: {_against(rule, match, evidence, written)}"
    if len(places) > MOST_PLACES:
        yield f"and {len(places) - MOST_PLACES} further places"


def _against(rule: Rule, match: Match, evidence: Evidence, written: dict[int, str]) -> str:
    """Return what stands against speaking of a place where the first condition of a rule holds."""
    found = obstacle(rule, match, evidence)
    if isinstance(found, str):
        return found
    if found is not None:
        said = "; ".join(dict.fromkeys(_said(found, evidence)))
        return f"`{written[id(found)]}` {'holds' if found in rule.unless else 'does not hold'}{f' ({said})' if said else ''}"
    outcomes = matching_outcomes(rule, evidence.target.versions)
    if not any(conditions_hold(one.when, one.unless, match, evidence) for one in outcomes):
        return "the conditions of none of its outcomes hold"
    return "it is found here" + (", and told beside other findings only" if rule.beside_others else "")


def _instead(first: Condition, evidence: Evidence) -> str:
    """Return what a program has where the first condition of a rule asks for something else."""
    if first.subject in ("setting", "product", "ratio"):
        return "; ".join(dict.fromkeys(_said(first, evidence))) or "no run of the file says or implies it"
    if first.subject in ("call", "method"):
        calls = [_place(evidence.span_of(call.node).start, evidence) for call in spoken_of(first, evidence)]
        return f"it is called at {', '.join(calls[:MOST_PLACES])}, but not as asked" if calls else "nothing in the file calls it"
    return "nothing in the file is what it looks for"


def _said(condition: Condition, evidence: Evidence) -> Iterator[str]:
    """Yield what the runs of a program say of the settings, or the versions, that a condition is about."""
    if condition.subject in ("setting", "product", "ratio"):
        for name in condition.names:
            yield from (_shown(one, evidence) for plan in evidence.plans for one in plan.settings.get(name, ()))
    elif condition.subject == "trains":
        yield f"the file {'trains' if evidence.trains else 'does not train'}"


def _shown(setting: Setting, evidence: Evidence) -> str:
    values = " or ".join(map(repr, setting.constants)) if setting.constants else "not known"
    where = f" at {_place(setting.span.start, evidence)}" if setting.span is not None else " by default"
    return f"{setting.name} is {values}{where}"


def _place(start: int, evidence: Evidence) -> str:
    place = evidence.document.place(start)
    return f"{place.path or evidence.document.path}, {place.words}"


def _written(rule: Rule) -> dict[int, str]:
    """Return the conditions of a rule as its file has them, on one line each, by their ids."""
    data: dict[str, Any] = read_yaml(rule.path)
    found = {}
    for key, conditions in (("when", rule.when), ("unless", rule.unless)):
        rows = data.get(key, [])
        for condition, row in zip(conditions, rows if isinstance(rows, list) else [rows], strict=True):
            text = ", ".join(f"{name}: {json_text(value, None)}" for name, value in row.items())
            found[id(condition)] = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return found
