"""Fixes of values that Python reads out of a configuration file: made in the file, in its language."""

from __future__ import annotations

import re

from mpslint.config.yaml_edit import scalar_text
from mpslint.core.finding import Edit, Fix, Safety
from mpslint.rewrite.recipes import FOR_ALL_REASON, fill
from mpslint.rule.judge import Match, conditions_hold
from mpslint.rule.rule import Rule
from mpslint.settings.evidence import Evidence
from mpslint.settings.spelling import UNSPELLABLE, spelling_of
from mpslint.settings.vocabulary import load_vocabulary
from mpslint.source.document import Kind

_FLAG = re.compile(r"(--[\w-]+(?:=|[ \t]+))[\w.+-]+")
OTHERS_REASON = "other code may read this value"


def fix_in_config(rule: Rule, match: Match, evidence: Evidence, in_python: Fix | None) -> Fix | None:
    """Return the fix of a match in the configuration file that decides its value; advice alone where that cannot be written.

    `in_python` is how it would be mended where Python takes the value.
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
            reason = FOR_ALL_REASON if any(load_vocabulary()[name].elsewhere for name in recipe.set) else OTHERS_REASON
            if reason == FOR_ALL_REASON and evidence.target.is_only_machine:
                return Fix(Safety.SAFE, f"{edit.text} for {spelling}", (edit,))
            return Fix(Safety.UNSAFE, f"{edit.text} for {spelling}", (edit,), reason)
    return Fix(Safety.MANUAL, in_python.summary) if in_python is not None else None


def _edit(wanted: object, match: Match, evidence: Evidence) -> Edit | None:
    """Return the edit of the value after which its setting is as wanted; None where more is to be written, or nothing says it."""
    setting = match.setting
    if not isinstance(wanted, dict) or setting is None or list(wanted) != [setting.name] or setting.entry is None or setting.origin is None:
        return None
    table = setting.pattern.table if setting.pattern is not None else None
    default = table.default(setting.name, evidence.target.versions) if table is not None else None
    value = spelling_of(setting.entry, wanted[setting.name], default.value if default is not None else UNSPELLABLE)
    if value is UNSPELLABLE:
        return None
    part = evidence.document.part_at(setting.origin.start)
    text = evidence.document.text
    old = text[setting.origin.start : setting.origin.end]
    if part.document.kind is Kind.SHELL:
        flag = _FLAG.fullmatch(old)
        return Edit(setting.origin, f"{flag[1]}{value}") if flag is not None and f"{flag[1]}{value}" != old else None
    new = scalar_text(value, old, part.document.text, part.document.path.endswith(".json"))
    return Edit(setting.origin, new) if new != old else None
