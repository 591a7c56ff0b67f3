"""What a rule says, as `mpslint.rule.reader` reads it from its file, and all rules together."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpslint.core.finding import RuleError, Safety, Severity
from mpslint.core.knowledge import compiled_id, own_files, read_yaml, rule_files, rules_folder
from mpslint.core.record import record
from mpslint.core.versions import VersionRange

_KEYS = frozenset({"id", "when", "message", "examples"})
"""Keys of rules that no other knowledge file has."""


@record(frozen=True, slots=True, eq=False)
class Condition:
    """One condition of `when` or `unless`."""

    subject: str
    names: tuple[str, ...]
    comparisons: tuple[tuple[str, Any], ...] = ()
    written: bool | None = None
    missing: bool | None = None
    arguments: Mapping[str, tuple[tuple[str, Any], ...]] = field(default_factory=dict)
    positional: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()
    in_loop: bool | str | None = None
    """`training`: in every step of a loop that runs `backward()` itself, under no test."""
    receiver: str = ""
    roles: tuple[str, ...] = ()
    """The roles of the calls that may say a setting; `environment` and `attribute` for what no call says."""
    styles: tuple[str, ...] = ()
    """How an environment variable may be set: `python`, `magic`, ..."""
    direct: bool | None = None
    """The value is decided where it is written, not by a name that stands for it."""
    options: Mapping[str, Any] = field(default_factory=dict)
    of: str = ""
    """The role of the call that made the object whose method it is."""
    before: str = ""
    """A method that the same object calls later; both under no test."""

    @property
    def named_arguments(self) -> list[str]:
        """The arguments that a call has to be given by name: not those that may be given by position, nor those that must be missing."""
        given = (name for name, comparisons in self.arguments.items() if dict(comparisons).get("any") is not False)
        return [name for name in given if name not in self.positional]


@record(frozen=True, slots=True, eq=False)
class Outcome:
    """What happens in some versions."""

    versions: VersionRange
    severity: Severity
    message: str
    when: tuple[Condition, ...] = ()
    unless: tuple[Condition, ...] = ()


@record(frozen=True, slots=True, eq=False)
class FixRecipe:
    """How a finding is mended, in some versions."""

    safety: Safety
    versions: VersionRange
    summary: str = ""
    advice: str = ""
    reason: str = ""
    set: Mapping[str, Any] = field(default_factory=dict)
    """Settings and their values; `{same_as: SETTING}` is that of the run, `{table: TABLE}` what `rules/platform/TABLE.yaml` has for the
    value that was found. The recipe is passed over where there is none."""
    remove_argument: bool = False
    rename_argument: str = ""
    remove_statement: bool = False
    replace: str = ""
    argument: Mapping[str, str] = field(default_factory=dict)
    """Arguments to give to the call, as Python text."""
    compute: str = ""
    """A Python function of `mpslint/checks/` that works out what to set."""
    rewrite: str = ""
    """A Python function of `mpslint/checks/` that writes the edits itself."""
    imports: tuple[str, ...] = ()
    statement: Mapping[str, str] = field(default_factory=dict)
    """Role of a call of the run -> a line of Python to put before its statement; `{model}` is the text of its argument `model`."""
    when: tuple[Condition, ...] = ()
    unless: tuple[Condition, ...] = ()


@record(frozen=True, slots=True, eq=False)
class Example:
    """A test, a piece of documentation, and a row of the README at once."""

    bad: str = ""
    good: str = ""
    ok: str = ""
    file: str = "train.py"
    target: Mapping[str, str] = field(default_factory=dict)
    known_miss: bool = False
    unsafe: bool = False
    """Its `good` comes from an unsafe fix."""


@record(frozen=True, slots=True, eq=False)
class Rule:
    """One rule."""

    id: str
    name: str
    title: str
    when: tuple[Condition, ...]
    unless: tuple[Condition, ...]
    unless_guarded: re.Pattern[str] | None
    at_origin: bool
    once: bool
    once_a_run: bool
    """It is about the environment: the files of one check don't each report it."""
    certain: bool
    everywhere: bool
    """It is asked about files for other processors, too, such as those that import Triton."""
    beside_others: bool
    """It is reported only in a file in which another rule finds something, unless nothing but such rules is asked for."""
    outcomes: tuple[Outcome, ...]
    fixes: tuple[FixRecipe, ...]
    why: str
    examples: tuple[Example, ...]
    sources: tuple[str, ...]
    since: str
    path: Path

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Read the rest of a shipped rule when more of it is asked for than its id: most files need few of the rules."""
            if name not in self.__slots__:
                raise AttributeError(f"a rule has no {name!r}")
            read = load_rule(self.path)
            for field in self.__slots__:
                setattr(self, field, getattr(read, field))
            return getattr(self, name)


def _unread(path: Path, id_: str) -> Rule:
    """Return a rule that is read when more than its id is asked for."""
    rule = Rule.__new__(Rule)
    for name, value in (("id", id_), ("path", path)):
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


def matching_outcomes(rule: Rule, versions: Mapping[str, tuple[int, ...]]) -> list[Outcome]:
    """Return the outcomes that the Target's versions allow, in order; with none, the rule is silent there."""
    return [outcome for outcome in rule.outcomes if not outcome.versions.terms or outcome.versions.matches(versions)]
