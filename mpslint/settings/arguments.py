"""Which arguments exist in which versions, from `rules/platform/arguments.yaml`."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

from mpslint.finding import RuleError
from mpslint.knowledge import read_yaml, rules_folder
from mpslint.versions import Version, VersionRange

_KEYS = {"exists", "use", "before", "drop", "note", "rewrite"}


@dataclass(frozen=True, slots=True, eq=False)
class ArgumentFact:
    """What is known of one argument of one call."""

    owner: str
    name: str
    exists: VersionRange
    use: str = ""
    """The argument that takes its place where it is gone."""
    before: str = ""
    """The argument that stood in its place before it came."""
    drop: bool = False
    note: str = ""
    rewrite: Mapping[str, str] = field(default_factory=dict)
    """By its value as text: what to write instead; '' for nothing."""


@functools.lru_cache(maxsize=1)
def load_arguments() -> Mapping[str, Mapping[str, ArgumentFact]]:
    """Return the facts by the call's name, then by argument. Raises RuleError naming the file and the key."""
    path = rules_folder() / "platform" / "arguments.yaml"
    found: dict[str, dict[str, ArgumentFact]] = {}
    for owner, arguments in read_yaml(path).items():
        found[owner] = {}
        for name, data in arguments.items():
            if unknown := set(data) - _KEYS:
                raise RuleError(f"{path}: {owner}: {name}: unknown key {sorted(unknown)[0]!r}")
            found[owner][name] = ArgumentFact(
                owner,
                name,
                VersionRange.parse(data["exists"]),
                data.get("use", ""),
                data.get("before", ""),
                data.get("drop", False),
                data.get("note", ""),
                data.get("rewrite", {}),
            )
    return found


OWNER_BY_ROLE = {
    "arguments": "transformers.TrainingArguments",
    "trainer": "transformers.Trainer",
    "model": "transformers.from_pretrained",
    "accelerator": "accelerate.Accelerator",
}
"""Whose facts hold for every call of a dialect's role: what derives from TrainingArguments takes its arguments."""


def fact_of(role: str, names: tuple[str, ...], argument: str) -> ArgumentFact | None:
    """Return what is known of an argument of a call that a dialect reads in this role."""
    owners = [*names, OWNER_BY_ROLE.get(role, "")]
    return next((fact for owner in owners if (fact := load_arguments().get(owner, {}).get(argument)) is not None), None)


def exists(role: str, names: tuple[str, ...], argument: str, versions: Mapping[str, Version]) -> bool:
    """Return whether a call takes an argument in the Target's versions, as far as is known."""
    fact = fact_of(role, names, argument)
    return fact is None or fact.exists.matches(versions)
