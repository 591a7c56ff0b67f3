"""Which rules the words of a configuration or a command line name, by former ids and names as well."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mpslint.core.finding import UsageError
from mpslint.core.knowledge import platform_data

if TYPE_CHECKING:
    from mpslint.rule.rule import Rule

LEAST_ALIKE = 0.5
"""How like a word a name is that is proposed in its place, from 0 to 1."""


@functools.lru_cache(maxsize=64)
def select_rules(rules: tuple[Rule, ...], select: tuple[str, ...], ignore: tuple[str, ...], more: tuple[str, ...] = ()) -> tuple[Rule, ...]:
    """Return the rules that `select` or `more` names and `ignore` does not, by id, name or beginning of an id (`MPS3`).

    Without `select` these are all but those that are asked on request alone. Raises UsageError for a word that names no rule.
    """
    refuse_unknown(rules, (*select, *more, *ignore))
    by_default = () if select else asked_by_default(rules)
    chosen = [rule for rule in rules if rule in by_default or any(_names(word, rule) for word in (*select, *more))]
    return tuple(rule for rule in chosen if not any(_names(word, rule) for word in ignore))


@functools.lru_cache(maxsize=16)
def asked_by_default(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """Return the rules without those that are asked only where somebody names them."""
    return tuple(rule for rule in rules if not rule.on_request)


@functools.lru_cache(maxsize=64)
def refuse_unknown(rules: tuple[Rule, ...], words: tuple[str, ...], where: str = "") -> None:
    """Raise UsageError for a word that names no rule, saying where it is written, and which name is closest."""
    for word in words:
        if word != "ALL" and not any(_names(word, rule) for rule in rules):
            near = _nearest(word, [name for rule in rules for name in (rule.id, rule.name)])
            hint = f"; did you mean {near}?" if near else "; `mpslint rules` lists them"
            raise UsageError(f"{where}unknown rule {word!r}{hint}")


def _nearest(word: str, known: Sequence[str]) -> str:
    """Return the name most like a word, as a whole or in one of its parts; of equally like ones the one that begins most like it; or ''."""
    import difflib

    ratios = {name: max(difflib.SequenceMatcher(None, part, word).ratio() for part in (name, *name.split("-"))) for name in known}
    best = [name for name in known if ratios[name] == max(ratios.values()) >= LEAST_ALIKE]
    return min(best, key=lambda name: -len(list(itertools.takewhile(bool, map(str.__eq__, name, word)))), default="")


def _names(word: str, rule: Rule) -> bool:
    return word == "ALL" or (word != "" and rule.id.startswith(word)) or rule.name == word or rule.id == current(word)


def current(word: str) -> str:
    """Return the id of the rule that says today what `word` said, by `rules/platform/renamed_rules.yaml`; any other word as it is."""
    renamed = platform_data("renamed_rules")
    found = renamed.get(word) or renamed.get(word.upper()) or renamed.get(word.lower())
    return word if found is None else str(found)
