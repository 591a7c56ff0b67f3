"""Reads rule files, and says exactly what is wrong with one.

The vocabulary of `when` and `unless` is closed; docs/rules.md says what each word means. All conditions of `when` must hold, and none of
`unless`; the first of `when` is where the finding is placed. An outcome and a fix may have a `when` and an `unless` of their own: the first
one whose versions and conditions hold counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mpslint.core.finding import RuleError, Safety, Severity
from mpslint.core.knowledge import given_fields, load_behaviours, read_yaml, rules_folder
from mpslint.core.record import record
from mpslint.core.versions import VersionRange
from mpslint.rule.rule import CALLED, Condition, Example, FixRecipe, Outcome, Rule
from mpslint.settings.roles import check_role, closest
from mpslint.settings.setting import load_vocabulary

COMPARISONS = ("is", "not", "at_least", "at_most", "above", "below", "matches", "may_be", "is_a", "outside")
OF_VALUES = ("made_by", "contains", "reads", "unless")
"""What an argument is asked that may be no constant: the names of what made it, a call that made something in it, attributes that it
reads, constants that it isn't known to be."""
TYPES = ("whole", "number", "text")
"""What `is_a` asks for: a whole number, another number, or text."""
IN_LOOP = (True, False, "training")
_ONCE = (True, False, "run", "plan")
SUBJECTS = tuple(
    "setting product ratio call method environment handler import role trains trained asks chooses_device uses certain chip check event "
    "versions suppression runs_on program".split()
)
_OPTIONS = {
    "setting": {"elsewhere", "in_run"}, "method": {"receiver"}, "import": {"later"}, "uses": {"in_run"}, "asks": {"in_run"},
    "call": {"here"}, "trained": {"adapts", "as_part", "recasts"}, "runs_on": {"already"},
    "event": {"of", "certainty", "dtype", "graph", "follows", "memory", "here"},
}  # fmt: skip
"""What the subjects of conditions take as `options`; a check has its own."""
CONDITION_KEYS = {*SUBJECTS, *COMPARISONS, "any", *Condition.__annotations__} - {"subject", "names", "comparisons"}
_FLAGS = tuple("by_default everywhere beside_others on_request any_machine worsens as_one terse tried".split())
RULE_KEYS = {
    "id", "name", "title", "when", "unless", "unless_guarded", "unless_in_run", "outcomes", "severity", "message", "fix", "why",
    "examples", "sources", "since", "versions", "at", "once", "certain", "leads_to", *_FLAGS,
}  # fmt: skip
FIX_KEYS = {*FixRecipe.__annotations__}
_OUTCOME_KEYS = {"versions", "severity", "message", "when", "unless"}
_BEHAVIOUR_KEYS = {"behaviour", "does", "versions", "severity", "message", "when", "unless"}
SEVERITY_OF = {"raises": "error", "wrong": "error", "ignored": "warning"}
EXAMPLE_KEYS = {*Example.__annotations__}


def topics_of_tests() -> Mapping[str, list[str]]:
    """Return the words of each topic that a test may be about, from `rules/topics.yaml`."""
    found: Mapping[str, list[str]] = read_yaml(rules_folder() / "topics.yaml")
    return found


@record(frozen=True, slots=True)
class RuleReader:
    """Turns the YAML of one rule file into a Rule, and says exactly what is wrong with it."""

    path: Path

    def fail(self, message: str) -> RuleError:
        """Return the error to raise."""
        return RuleError(f"{self.path}: {message}")

    def only(self, data: Mapping[str, Any], allowed: set[str], where: str) -> None:
        """Raise for a key that is not in the vocabulary, naming the nearest that is."""
        for key in data:
            if key not in allowed:
                hint = closest(key, allowed) or f"; known keys: {', '.join(sorted(allowed)) or 'none'}"
                raise self.fail(f"{where}: unknown key {key!r}{hint}")

    def one_of(self, data: Mapping[str, Any], key: str, known: tuple[bool | str, ...], where: str) -> None:
        """Raise where a key has another value than those that it takes; the error names the nearest of them."""
        if key in data and data[key] not in known:
            words = [str(word).lower() if isinstance(word, bool) else word for word in known]
            raise self.fail(f"{where}: `{key}` is one of {', '.join(words)}, not {data[key]!r}{closest(data[key], words)}")

    def words(self, topics: str | list[str]) -> re.Pattern[str]:
        """Return what finds a word of some topics in a test."""
        known = topics_of_tests()
        named = [topics] if isinstance(topics, str) else topics
        for name in named:
            if name not in known:
                raise self.fail(f"unless_guarded: unknown topic {name!r}{closest(name, known) or '; known topics: ' + ', '.join(known)}")
        return re.compile("|".join(re.escape(word) for name in named for word in known[name]), re.IGNORECASE)

    def rule(self, data: Mapping[str, Any]) -> Rule:
        """Return the Rule."""
        self.only(data, RULE_KEYS, "rule")
        for key in ("id", "name", "title", "when", "why", "examples", "sources"):
            if not data.get(key):
                raise self.fail(f"rule: {key!r} is missing")
        if not re.fullmatch(r"[A-Z]{3,8}\d{3}", str(data["id"])):
            raise self.fail(f"rule: the id {data['id']!r} is not of the form MPS101")
        if "versions" in data and "outcomes" in data:
            raise self.fail("rule: `versions` has no effect beside `outcomes`; write it in each of them, or as a condition in `when`")
        self.one_of(data, "at", ("setting", "origin"), "rule")
        self.one_of(data, "once", _ONCE, "rule")
        fixes = data.get("fix") or []
        read: dict[str, Any] = {
            **{name: bool(data.get(name, False)) for name in _FLAGS},
            **given_fields(Rule, data),
            "when": self.conditions(data["when"], "when"),
            "unless": self.conditions(data.get("unless", []), "unless"),
            "unless_guarded": self.words(data["unless_guarded"]) if data.get("unless_guarded") else None,
            "unless_in_run": self.conditions(data.get("unless_in_run", []), "unless_in_run"),
            "at_origin": data.get("at") == "origin",
            "once": data.get("once", False) in (True, "run"),
            "once_a_plan": data.get("once") == "plan",
            "once_a_run": data.get("once") == "run",
            "certain": CALLED if data.get("certain") == CALLED else bool(data.get("certain", False)),
            "raises": self.raises(data.get("certain", False)),
            "leads_to": str(data.get("leads_to", "")),
            "outcomes": tuple(outcome for row in data.get("outcomes") or [data] for outcome in self.outcomes(row)),
            "fixes": tuple(self.fix(row) for row in (fixes if isinstance(fixes, list) else [fixes])),
            "why": str(data["why"]).strip(),
            "examples": tuple(map(self.example, data["examples"])),
            "since": str(data.get("since", "0.1")),
            "path": self.path,
        }
        return Rule(**read)

    def raises(self, certain: bool | str | list[str]) -> frozenset[str]:
        """Return the exceptions that a rule is about, of a value of `certain`; none where it names none."""
        if isinstance(certain, str) and certain != CALLED:
            raise self.fail(f"rule: `certain` is true, false, {CALLED} or a list of exceptions, not {certain!r}")
        return frozenset(f"builtins.{name}" for name in certain) if isinstance(certain, list) else frozenset()

    def versions(self, data: Mapping[str, Any]) -> VersionRange:
        """Return the version range of a mapping; everything when it has none."""
        try:
            return VersionRange.parse(str(data.get("versions", "")))
        except RuleError as error:
            raise self.fail(str(error)) from None

    def outcomes(self, data: Mapping[str, Any]) -> tuple[Outcome, ...]:
        """Return the outcome of an entry, or those that a behaviour stands for: one for each range of versions in which it doesn't work."""
        if "behaviour" not in data:
            return (self.outcome(data),)
        self.only(data, _BEHAVIOUR_KEYS, "outcomes")
        wanted = _as_tuple(data.get("does", tuple(SEVERITY_OF)))
        for does in wanted:
            self.one_of({"does": does}, "does", tuple(SEVERITY_OF), "outcomes")
        ours, message = self.versions(data), data.get("message", "{text}")
        when, unless = self.own_conditions(data, "outcomes")
        try:
            rows = load_behaviours(data["behaviour"])
        except RuleError as error:
            raise self.fail(f"outcomes: {error}") from None
        return tuple(
            Outcome(
                VersionRange(ours.terms + row.versions.terms),
                Severity(data.get("severity", SEVERITY_OF[row.does])),
                " ".join(message.replace("{text}", row.text).split()),
                when,
                unless,
            )
            for row in rows
            if row.does in wanted
        )

    def outcome(self, data: Mapping[str, Any]) -> Outcome:
        """Return one outcome."""
        if "outcomes" not in data and data.get("id") is None:
            self.only(data, _OUTCOME_KEYS, "outcomes")
        if "message" not in data or data.get("severity") not in [severity.value for severity in Severity]:
            raise self.fail("outcomes: each needs a message and a severity (error, warning or note)")
        when, unless = self.own_conditions(data, "outcomes") if "id" not in data else ((), ())
        return Outcome(self.versions(data), Severity(data["severity"]), " ".join(str(data["message"]).split()), when, unless)

    def own_conditions(self, data: Mapping[str, Any], where: str) -> tuple[tuple[Condition, ...], tuple[Condition, ...]]:
        """Return the `when` and the `unless` of an outcome or a fix."""
        return self.conditions(data.get("when", []), f"{where}: when"), self.conditions(data.get("unless", []), f"{where}: unless")

    def conditions(self, data: Any, where: str) -> tuple[Condition, ...]:
        """Return a list of conditions."""
        return tuple(self.condition(row, where) for row in (data if isinstance(data, list) else [data]))

    def condition(self, data: Any, where: str) -> Condition:
        """Return one condition."""
        if not isinstance(data, dict):
            raise self.fail(f"{where}: a condition is a mapping such as {{setting: precision.mixed, is: fp16}}")
        self.only(data, CONDITION_KEYS, where)
        subjects = [key for key in SUBJECTS if key in data]
        if len(subjects) != 1:
            raise self.fail(f"{where}: a condition has exactly one subject of: {', '.join(SUBJECTS)}")
        subject = subjects[0]
        names = data[subject] if isinstance(data[subject], list) else [data[subject]]
        if subject in ("setting", "product", "ratio"):
            for name in names:
                if name not in load_vocabulary():
                    raise self.fail(f"{where}: unknown setting {name!r}{closest(name, load_vocabulary())}")
        for role in (*_as_tuple(data.get("roles", ())), *_as_tuple(data.get("of", ())), *(names if subject == "role" else ())):
            check_role(str(role), f"{self.path}: {where}")
        if subject != "check":
            self.only(data.get("options", {}), _OPTIONS.get(subject, set()), f"{where}: options of `{subject}`")
        self.one_of(data, "certain", (True, False), where)
        self.one_of(data, "in_loop", IN_LOOP, where)
        read: dict[str, Any] = {
            **given_fields(Condition, data),
            "subject": subject,
            "names": tuple(map(str, names)),
            "comparisons": self.comparisons(data, where),
            "arguments": {name: self.argument(row, where) for name, row in data.get("arguments", {}).items()},
        }
        return Condition(**read)

    def argument(self, data: Mapping[str, Any], where: str) -> tuple[tuple[str, Any], ...]:
        """Return what is asked of an argument."""
        self.only(data, {*COMPARISONS, *OF_VALUES, "any"}, where)
        read = {"contains": lambda row: self.condition(row, where)}
        return self.comparisons(data, where) + tuple((key, read.get(key, _as_tuple)(data[key])) for key in OF_VALUES if key in data)

    def comparisons(self, data: Mapping[str, Any], where: str) -> tuple[tuple[str, Any], ...]:
        """Return the comparisons of a condition or an argument."""
        self.one_of(data, "is_a", TYPES, where)
        given = ((key, data[key]) for key in (*COMPARISONS, "any") if key in data)
        return tuple((key, tuple(value) if isinstance(value, list) else value) for key, value in given)

    def fix(self, data: Mapping[str, Any]) -> FixRecipe:
        """Return one fix recipe."""
        self.only(data, FIX_KEYS, "fix")
        if data.get("safety") not in [safety.value for safety in Safety]:
            raise self.fail("fix: safety is one of safe, unsafe, manual")
        for name in data.get("set", {}):
            source = data["set"][name]
            for one in (name, source["same_as"]) if isinstance(source, dict) and "same_as" in source else (name,):
                if one not in load_vocabulary():
                    raise self.fail(f"fix: unknown setting {one!r}{closest(one, load_vocabulary())}")
            if isinstance(source, dict) and set(source) not in ({"same_as"}, {"table"}):
                raise self.fail(f"fix: {name}: a value, {{same_as: SETTING}} or {{table: TABLE}}, not {source}")
        when, unless = self.own_conditions(data, "fix")
        read: dict[str, Any] = {
            **given_fields(FixRecipe, data),
            "safety": Safety(data["safety"]),
            "versions": self.versions(data),
            "advice": " ".join(str(data.get("advice", "")).split()),
            "reason": " ".join(str(data.get("reason", "")).split()),
            "when": when,
            "unless": unless,
        }
        return FixRecipe(**read)

    def example(self, data: Mapping[str, Any]) -> Example:
        """Return one example."""
        self.only(data, EXAMPLE_KEYS, "examples")
        if ("bad" in data) == ("ok" in data):
            raise self.fail("examples: each has either `bad` (with `good`, where there is a fix) or `ok`")
        target = {name: str(version) for name, version in data.get("target", {}).items()}
        return Example(**{**given_fields(Example, data), "target": target})


def _as_tuple(data: Any) -> tuple[str, ...]:
    return (data,) if isinstance(data, str) else tuple(data)
