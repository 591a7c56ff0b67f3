"""Fixes of values that Python reads out of a configuration file: made in the file, in its language."""

from __future__ import annotations

from mpslint.config.yaml_edit import scalar_text
from mpslint.core.finding import Edit, Fix, Safety, Span
from mpslint.rewrite.recipes import FOR_ALL_REASON, UNKNOWN_VALUE, fill, wanted_value
from mpslint.rule.judge import Match, conditions_hold
from mpslint.rule.rule import Rule
from mpslint.settings.evidence import Evidence
from mpslint.settings.setting import load_vocabulary
from mpslint.settings.spelling import UNSPELLABLE, default_of, spelled
from mpslint.source.document import Kind

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
    """Return the edit of a scalar or a flag after which it says a value; None where that cannot be done."""
    part, text = evidence.document.part_at(place.start), evidence.document.text
    if part.document.kind is Kind.SHELL:
        from mpslint.settings.spell_shell import rewrite_words

        return rewrite_words(place, value, text, is_on)
    old = text[place.start : place.end]
    new = scalar_text(value, old, part.document.text, part.document.path.endswith(".json"))
    return Edit(place, new) if new != old else None
