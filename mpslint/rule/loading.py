"""Rule files -> rules: one of them, and all together; and the Python checks that some of them name."""

from __future__ import annotations

import functools
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpslint.core.finding import RuleError
from mpslint.core.knowledge import compiled_id, own_files, read_yaml, rule_files, rules_folder
from mpslint.rule.rule import Rule

_KEYS = frozenset({"id", "when", "message", "examples"})
"""Keys of rules that no other knowledge file has."""


class _Unread(Rule):
    """A shipped rule that is read when more is asked for than its id, its path and `on_request`: most files need few of the rules."""

    __slots__ = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Read the rest."""
            if name not in Rule.__slots__:
                raise AttributeError(f"a rule has no {name!r}")
            read = load_rule(self.path)
            for field in Rule.__slots__:
                setattr(self, field, getattr(read, field))
            return getattr(self, name)


def _unread(path: Path, id_: str) -> Rule:
    """Return a rule that is read when more than its id is asked for."""
    rule = _Unread.__new__(_Unread)
    for name, value in (("id", id_), ("path", path), ("on_request", read_yaml(path).get("on_request", False))):
        object.__setattr__(rule, name, value)
    return rule


def load_rule(path: Path) -> Rule:
    """Return the rule of one file. Raises RuleError naming the file and the key that is wrong."""
    from mpslint.rule.reader import RuleReader

    data = read_yaml(path)
    if not isinstance(data, dict):
        raise RuleError(f"{path}: a rule file holds one mapping")
    if is_shipped(path):
        return RuleReader(path).rule(data)
    from mpslint.rule.shape import check_shape

    check_shape(path, data)
    try:
        return RuleReader(path).rule(data)
    except (TypeError, ValueError, AttributeError, LookupError) as error:
        raise RuleError(f"{path}: rule: malformed ({error})") from None


def load_rules(folders: tuple[Path, ...] = (), instead: tuple[Path, ...] = ()) -> tuple[Rule, ...]:
    """Return every rule by id: the shipped ones, then those of the user's own folders and files. Raises RuleError.

    A rule of the user's own that contradicts another one isn't loaded either; the shipped ones are held to that by the tests.
    Rules at `instead` take the place of shipped ones with the same ids, such as those of a checkout that an installed mpslint tests.
    """
    return _load_rules(folders, instead)


@functools.lru_cache(maxsize=8)
def _load_rules(folders: tuple[Path, ...], instead: tuple[Path, ...]) -> tuple[Rule, ...]:
    own = {path.resolve(): path for path in _own_rules((*folders, *instead))}
    replaced = {load_rule(path).id for path in _own_rules(instead)}
    paths = [path for path in rule_files() if not replaced or (compiled_id(path) or load_rule(path).id) not in replaced]
    paths += own.values()
    rules: dict[str, Rule] = {}
    for path in paths:
        id_ = compiled_id(path)
        rule = load_rule(path) if id_ is None else _unread(path, id_)
        if rule.id in rules:
            raise RuleError(f"{path}: the id {rule.id} is taken by {rules[rule.id].path}")
        rules[rule.id] = rule
    if own:
        from mpslint.rule.contradictions import refuse_contradictions

        refuse_contradictions([rule for rule in rules.values() if rule.path in own.values()], tuple(rules.values()))
    return tuple(sorted(rules.values(), key=lambda rule: rule.id))


def is_shipped(path: Path) -> bool:
    """Return whether a folder or file is one of ours, whose rules are read anyway."""
    return path.is_relative_to(rules_folder()) or path.resolve().is_relative_to(rules_folder().resolve())


def _own_rules(places: tuple[Path, ...]) -> list[Path]:
    """Return the rule files at a user's places. What is named is one; in a folder other YAML files may lie beside them."""
    found = [(place, path) for place in places if not is_shipped(place) for path in own_files(place)]
    return [path for place, path in found if path == place or _is_rule(read_yaml(path))]


def _is_rule(data: Any) -> bool:
    """Return whether a YAML file is meant as a rule, if perhaps a wrong one: it has a key that every rule has."""
    if isinstance(data, list):  # several rules in one file: an error to be told, not data to be skipped
        return any(isinstance(one, dict) and "when" in one for one in data)
    return isinstance(data, dict) and not _KEYS.isdisjoint(data)


@functools.lru_cache(maxsize=256)
def check_module(name: str) -> Any:
    """Return `mpslint/checks/NAME.py`. Raises RuleError when there is none."""
    try:
        return importlib.import_module(f"mpslint.checks.{name}")
    except ModuleNotFoundError:
        raise RuleError(f"there is no check {name!r} in mpslint/checks/") from None
