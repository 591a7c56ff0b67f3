"""Former ids and names of rules, still used in comments, configurations and command lines."""

from __future__ import annotations

from mpslint.core.knowledge import platform_data


def current(word: str) -> str:
    """Return the id of the rule that says today what `word` said, by `rules/platform/renamed_rules.yaml`; any other word as it is."""
    renamed = platform_data("renamed_rules")
    found = renamed.get(word) or renamed.get(word.upper()) or renamed.get(word.lower())
    return word if found is None else str(found)
