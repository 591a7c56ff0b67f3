"""Fixes of values that Python reads out of a configuration file: made in the file, in its language."""

from __future__ import annotations

import re

from mpslint.config.yaml_edit import scalar_text
from mpslint.core.finding import Edit, Fix, Safety, Span
from mpslint.rewrite.recipes import FOR_ALL_REASON, UNKNOWN_VALUE, fill, wanted_value
from mpslint.rule.judge import Match, conditions_hold
from mpslint.rule.rule import Rule
from mpslint.settings.evidence import Evidence
from mpslint.settings.spelling import UNSPELLABLE, default_of, spelled
from mpslint.settings.vocabulary import load_vocabulary
from mpslint.source.document import Kind

_FLAG = re.compile(r"(-{1,2}[\w.-]+?(?:=|[ \t]+)|-\w)[\w.:+]+")
"""A flag with its value, as the value comes: `--x=16`, `--x 16`, `-x 16`, `-x16`."""
_SWITCH = re.compile(r"--?[\w-]+")
_BEFORE = re.compile(r"(?:[ \t]*\\\r?\n)?[ \t]+$")
"""What goes with a switch that is taken out: the blanks before it, and the end of the line before it where it begins one."""
OTHERS_REASON = "other code may read this value"


def fix_in_config(rule: Rule, match: Match, evidence: Evidence, in_python: Fix | None) -> Fix | None:
    """Return the fix of a match in the configuration file that decides its value; advice alone where that cannot be written.

    `in_python` is the fix at the place in Python that takes the value.
    """
    for recipe in rule.fixes:
        if not recipe.versions.matches(evidence.target.versions) or not conditions_hold(recipe.when, recipe.unless, match, evidence):
            continue
        if recipe.safety is Safety.MANUAL:
            return Fix(Safety.MANUAL, fill(recipe.advice or recipe.summary, match, evidence))
        edit = _edit(recipe.set, match, evidence)
        spelling = match.setting.spelling if match.setting is not None else ""
        if edit is None and match.setting is not None and list(recipe.set) == [match.setting.name]:
            return Fix(Safety.MANUAL, f"another value for {spelling}")
        if edit is not None:
            old = evidence.document.text[edit.span.start : edit.span.end].strip(" \t\r\n\\")
            shown = f"{edit.text} for {spelling or match.values.get('written') or match.values['value']}" if edit.text else f"without {old}"
            reason = FOR_ALL_REASON if any(load_vocabulary()[name].elsewhere for name in recipe.set) else OTHERS_REASON
            if reason == FOR_ALL_REASON and evidence.target.is_only_machine:
                return Fix(Safety.SAFE, shown, (edit,))
            return Fix(Safety.UNSAFE, shown, (edit,), reason)
    return Fix(Safety.MANUAL, in_python.summary) if in_python is not None else None


def _edit(wanted: object, match: Match, evidence: Evidence) -> Edit | None:
    """Return the edit of the value after which its setting is as wanted; None where more is to be written, or nothing says it."""
    setting = match.setting
    if isinstance(wanted, dict) and len(wanted) == 1 and setting is None and "value" in match.values:
        value = wanted_value(next(iter(wanted.values())), match)
        return _written(match.span, value, evidence) if value is not UNKNOWN_VALUE else None
    if not isinstance(wanted, dict) or setting is None or list(wanted) != [setting.name] or setting.entry is None or setting.origin is None:
        return None
    value = wanted_value(wanted[setting.name], match)
    value = spelled(setting, value, evidence.target.versions) if value is not UNKNOWN_VALUE else UNSPELLABLE
    if value is UNSPELLABLE:
        return None
    return _written(setting.origin, value, evidence, default_of(setting, evidence.target.versions) is True)


def _written(place: Span, value: object, evidence: Evidence, is_on: bool = False) -> Edit | None:
    """Return the edit of a scalar or a flag after which it says a value; None where that cannot be done.

    A switch that `is_on` by default is not off where it is not given: it gets its value.
    """
    part = evidence.document.part_at(place.start)
    text = evidence.document.text
    old = text[place.start : place.end]
    if part.document.kind is Kind.SHELL:
        is_given = is_on and value is False and _SWITCH.fullmatch(old) is not None
        return Edit(place, f"{old} {value}") if is_given else _of_flag(place, old, value, text)
    new = scalar_text(value, old, part.document.text, part.document.path.endswith(".json"))
    return Edit(place, new) if new != old else None


def _of_flag(place: Span, old: str, value: object, text: str) -> Edit | None:
    """Return the edit that gives a flag another value, or takes out a switch that is to be off; None where neither can be done."""
    if value is False and _SWITCH.fullmatch(old):
        before = _BEFORE.search(text, 0, place.start)
        return Edit(Span(before.start(), place.end), "") if before is not None else None
    flag = _FLAG.fullmatch(old)
    return Edit(place, f"{flag[1]}{value}") if flag is not None and f"{flag[1]}{value}" != old else None
