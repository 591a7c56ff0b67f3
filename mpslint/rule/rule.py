"""What a rule says, as `mpslint.rule.reader` reads it from its file, and all rules together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from mpslint.core.finding import Safety, Severity
from mpslint.core.record import record
from mpslint.core.versions import VersionRange


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
    roles: tuple[str, ...] = ()
    """The roles of the calls that may say a setting; `environment` and `attribute` for what no call says."""
    styles: tuple[str, ...] = ()
    """How an environment variable may be set: `python`, `magic`, ..."""
    direct: bool | None = None
    """The value is decided where it is written, not by a name that stands for it."""
    settled: bool | None = None
    """The value is no default of a function that nothing here calls, whose callers elsewhere may give another."""
    options: Mapping[str, Any] = field(default_factory=dict)
    of: str = ""
    """The role of the call that made the object whose method it is."""
    before: str = ""
    """A method that the same object calls later; both under no test."""
    holds: str = ""
    """A regular expression that the text of a call holds."""
    or_calls: tuple[str, ...] = ()
    """Methods of what the run's call in the role `of` made: a call of one of them counts as much as the setting."""

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
    """How a finding is fixed, in some versions."""

    safety: Safety
    versions: VersionRange
    summary: str = ""
    advice: str = ""
    reason: str = ""
    set: Mapping[str, Any] = field(default_factory=dict)
    """Settings and their values; `{same_as: SETTING}` is that of the run, `{table: TABLE}` what `rules/platform/TABLE.yaml` has for the
    value that was found. The recipe is passed over where there is none."""
    remove_argument: bool = False
    remove_statement: bool = False
    skip_statement: bool = False
    """The statement is left out on a Mac, and stays on every other machine."""
    replace: str = ""
    argument: Mapping[str, str] = field(default_factory=dict)
    """Arguments to give to the call, as Python text; `{old}` is what the argument says now."""
    rewrite: str = ""
    """A Python function of `mpslint/checks/` that writes the edits itself."""
    statement: Mapping[str, str] = field(default_factory=dict)
    """Role of a call of the run -> a line of Python to put before its statement; `{model}` is the text of its argument `model`."""
    matches: str = ""
    """A regular expression that the text of the setting's value matches; the recipe is passed over where it doesn't."""
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


CALLED = "called"
"""What `certain` says in a rule that reports what is under undecided tests, too, as long as something calls it."""


@record(frozen=True, slots=True, eq=False)
class Rule:
    """One rule."""

    id: str
    name: str
    title: str
    when: tuple[Condition, ...]
    unless: tuple[Condition, ...]
    unless_guarded: re.Pattern[str] | None
    unless_in_run: tuple[Condition, ...]
    """Places of which a run shows that the rule says nothing there, although the file by itself gives a finding."""
    at_origin: bool
    once: bool
    once_a_plan: bool
    """What it finds in one training run is one finding, at the first place, with the others beside it."""
    once_a_run: bool
    """It is about the environment: the files of one check don't each report it."""
    certain: bool | str
    """Whether it leaves alone what may never run; `called` where tests alone don't count."""
    raises: frozenset[str]
    """With `certain`, the exceptions that it is about: what catches only others doesn't matter. None: every `except` does."""
    by_default: bool
    """It leaves alone what runs only where an option is given a value other than its default."""
    everywhere: bool
    """It is asked about files for other processors, too, such as those that import Triton."""
    beside_others: bool
    """It is reported only in a file in which another rule finds something, unless nothing but such rules is asked for."""
    on_request: bool
    """It is asked only where `select` names it, by its id, its name or the beginning of its id."""
    any_machine: bool
    """What it finds goes wrong on every machine: reports for people put it behind what goes wrong on a Mac alone."""
    worsens: bool
    """A fix of another rule that leads to what it finds isn't made, although it is no error."""
    as_one: bool
    """Its fixes are made in all files of a run, or in none."""
    terse: bool
    """Its messages say enough: findings come without the reasons."""
    leads_to: str
    """How to say what else goes wrong once the values that it finds are what its fix makes of them; '' where nothing depends on them."""
    tried: bool
    """Its fix moves the run to another device or precision, where other rules may find errors: it's safe only if they find none."""
    outcomes: tuple[Outcome, ...]
    fixes: tuple[FixRecipe, ...]
    why: str
    examples: tuple[Example, ...]
    sources: tuple[str, ...]
    since: str
    path: Path


def matching_outcomes(rule: Rule, versions: Mapping[str, tuple[int, ...]]) -> list[Outcome]:
    """Return the outcomes that the Target's versions allow, in order; with none, the rule is silent there."""
    return [outcome for outcome in rule.outcomes if not outcome.versions.terms or outcome.versions.matches(versions)]
