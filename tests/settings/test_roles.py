"""Roles are declared in rules/roles.yaml, and a mistyped one is told with the closest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mpslint.core.finding import RuleError
from mpslint.core.knowledge import rules_folder
from mpslint.rule.reader import RuleReader
from mpslint.settings.dialects import load_dialects
from mpslint.settings.roles import load_roles

RULE = {
    "id": "OWN101",
    "name": "x",
    "title": "x",
    "why": "x",
    "examples": [{"ok": "x = 1"}],
    "sources": ["x"],
    "severity": "note",
    "message": "x",
}


def test_every_declared_role_is_used() -> None:
    """By a dialect, or by what no call says (`environment`, `attribute`)."""
    used = {"environment", "attribute"}
    for dialect in load_dialects().all:
        used |= {pattern.role for pattern in dialect.calls}
        used |= {pattern.call.role for pattern in (*dialect.commands, *dialect.configs)}

    assert set(load_roles()) - used == set()


def test_what_is_said_of_a_role_is_explained() -> None:
    """By the head of the file, which names each word."""
    explained = set(re.findall(r"^# (\w+):", (rules_folder() / "roles.yaml").read_text(), re.MULTILINE))

    assert {word for said in load_roles().values() for word in said} == {"means", *explained}


def test_a_mistyped_role_in_a_rule_names_the_closest() -> None:
    """The file, the key and the word that was probably meant."""
    rule = {**RULE, "when": {"setting": "precision.mixed", "is": "fp16", "roles": "acelerator"}}

    with pytest.raises(RuleError, match=r"own\.yaml: when: unknown role 'acelerator'; did you mean 'accelerator'\?"):
        RuleReader(Path("own.yaml")).rule(rule)


def test_a_mistyped_setting_in_a_rule_names_the_closest() -> None:
    """As a role does."""
    rule = {**RULE, "when": {"setting": "precision.mixd", "is": "fp16"}}

    with pytest.raises(RuleError, match=r"unknown setting 'precision\.mixd'; did you mean 'precision\.mixed'\?"):
        RuleReader(Path("own.yaml")).rule(rule)
