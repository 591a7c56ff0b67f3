"""Make the JSON schemas of the files that users write, by which editors complete and check them: the configuration, and rules.

    python tools/make_schemas.py

Both are made from what the code reads: the keys of the configuration, the vocabulary of rules and the fields that it is read into.
`schemas/` holds them as files; a test holds these to what this gives.
"""

from __future__ import annotations

import json
import re
import typing
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from mpslint.core.finding import Safety, Severity
from mpslint.core.versions import VersionRange
from mpslint.rule.reader import (
    COMPARISONS,
    CONDITION_KEYS,
    EXAMPLE_KEYS,
    FIX_KEYS,
    OF_VALUES,
    RULE_KEYS,
    SEVERITY_OF,
    SUBJECTS,
    topics_of_tests,
)
from mpslint.rule.rule import Condition, Example, FixRecipe, Outcome, Rule
from mpslint.session.configuration import KEYS, TARGET_KEYS
from mpslint.settings.setting import load_vocabulary
from mpslint.target.packages import newest_versions

Schema = dict[str, Any]

ROOT = Path(__file__).parents[1]
DRAFT = "http://json-schema.org/draft-07/schema#"
_WORDS: Schema = {"type": "array", "items": {"type": "string"}}
_WORD_OR_WORDS: Schema = {"type": ["string", "array"], "items": {"type": "string"}}
_TEXT: Schema = {"type": ["string", "number"]}
_SCALAR_OR_LIST: Schema = {"type": ["string", "number", "boolean", "array", "null"]}
_SETTING: Schema = {"$ref": "#/definitions/setting"}
FLAGS = ("trains", "trained", "chooses_device", "program")
"""Subjects of conditions that name nothing."""
_KINDS: Mapping[type, Schema] = {list: _WORDS, dict: {"type": "object"}, str: {"type": "string"}, bool: {"type": "boolean"}}


MEANINGS: Mapping[str, str] = {
    "select": "Only these rules: ids, names or beginnings of ids (MPS3). Every rule by default.",
    "ignore": "Not these rules.",
    "exclude": "Not these files: patterns as in .gitignore, from the folder of this file.",
    "per-file-ignores": "Not these rules in files that match a pattern.",
    "severity": "Nothing below this severity: error, warning or note.",
    "unsafe": "mpslint fix also makes changes that change the run.",
    "this-mac-only": "Nothing runs the code but this Mac: fixes write the short form, and may change what other machines do.",
    "target": "What the code will run on: versions of packages and of macOS, the Mac's memory and chip.",
    "rules": "Folders of your own rule files.",
    "stubs": "Folders of your own stubs, which say what a library does with values.",
}
"""What each key of the configuration means."""


def schema_text(schema: Schema) -> str:
    """Return a schema as it stands in its file."""
    return json.dumps(schema, indent=2) + "\n"


def configuration_schema() -> Schema:
    """Return the schema of mpslint.toml, and of `[tool.mpslint]` in pyproject.toml."""
    properties: dict[str, Schema] = {key: {"description": MEANINGS[key], **_KINDS[kind]} for key, kind in KEYS.items()}
    properties["severity"]["enum"] = [severity.value for severity in Severity]
    properties["per-file-ignores"]["additionalProperties"] = _WORDS
    packages = {name: {"description": f"The version of {name}.", **_TEXT} for name in sorted(newest_versions())}
    mac = {"memory": {"description": "The Mac's memory, such as 16GB.", **_TEXT}, "chip": {"description": "Such as m2.", "type": "string"}}
    properties["target"] |= _closed({**packages, **{key: mac[key] for key in TARGET_KEYS}})
    return {"$schema": DRAFT, "title": "Configuration of mpslint", **_closed(properties)}


def rule_schema() -> Schema:
    """Return the schema of a rule file."""
    fix = {**_typed(FixRecipe, FIX_KEYS), "set": {"type": "object", "propertyNames": _SETTING}}
    rule = _typed(Rule, RULE_KEYS)
    rule |= {
        "id": {"type": "string", "pattern": "^[A-Z]{3,8}[0-9]{3}$"},
        "at": {"enum": ["setting", "origin"]},
        "once": {"enum": [True, False, "run", "plan"]},
        "unless_guarded": _one_or_more({"enum": sorted(topics_of_tests())}),
        "certain": {"anyOf": [{"enum": [True, False, "called"]}, {"type": "array", "items": {"type": "string"}}]},
        "since": _TEXT,
        "severity": _enum(Severity),
        "message": {"type": "string"},
        "versions": {"type": "string"},
        "outcomes": {"type": "array", "items": _outcome()},
        "fix": _one_or_more({**_closed(fix), "required": ["safety"]}),
        "examples": {"type": "array", "items": _example(EXAMPLE_KEYS)},
    }
    return {
        "$schema": DRAFT,
        "title": "A rule of mpslint",
        **_closed(rule),
        "required": ["id", "name", "title", "when", "why", "examples", "sources"],
        "anyOf": [{"required": ["outcomes"]}, {"required": ["severity", "message"]}],
        "definitions": {
            "condition": _condition(CONDITION_KEYS),
            "conditions": _one_or_more({"$ref": "#/definitions/condition"}),
            "setting": {"enum": sorted(load_vocabulary())},
        },
    }


def names_of(kind: type) -> list[str]:
    """Return the names of the fields of a dataclass."""
    return [field.name for field in fields(kind)]


def _closed(properties: Mapping[str, Schema]) -> Schema:
    return {"type": "object", "properties": dict(properties), "additionalProperties": False}


def _one_or_more(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "array", "items": schema}]}


def _enum(kind: type[Severity] | type[Safety]) -> Schema:
    return {"enum": [one.value for one in kind]}


def _condition(keys: Iterable[str]) -> Schema:
    """Return the schema of a condition: exactly one subject, and what is compared."""
    number, text, flag = ({"type": name} for name in ("number", "string", "boolean"))
    compared: dict[str, Schema] = dict.fromkeys(COMPARISONS, _SCALAR_OR_LIST) | {"any": flag, "outside": {"type": "array"}}
    compared |= dict.fromkeys(("at_least", "at_most", "above", "below"), number) | dict.fromkeys(("matches", "is_a"), text)
    properties: dict[str, Schema] = {**_typed(Condition, keys), **compared, **dict.fromkeys(SUBJECTS, _WORD_OR_WORDS)}
    properties |= dict.fromkeys(FLAGS, flag) | dict.fromkeys(("check", "versions"), text)
    properties |= {subject: {"type": ["string", "boolean", "array"], "items": text} for subject in ("certain", "event", "suppression")}
    properties["setting"] = _one_or_more(_SETTING)
    properties |= {subject: {"type": "array", "items": _SETTING, "minItems": 2} for subject in ("product", "ratio")}
    of_values = {
        **dict.fromkeys(OF_VALUES, _one_or_more({"type": "string"})),
        "contains": {"$ref": "#/definitions/condition"},
        "unless": {"type": "array"},
    }
    properties["arguments"] = {"type": "object", "additionalProperties": _closed({**compared, **of_values})}
    return {**_closed(properties), "oneOf": [{"required": [subject]} for subject in SUBJECTS]}


def _outcome() -> Schema:
    """Return the schema of an outcome: said in the rule, or taken from a behaviour."""
    own = _typed(Outcome, names_of(Outcome))
    does = {"enum": list(SEVERITY_OF)}
    taken = {"behaviour": {"type": "string"}, "does": _one_or_more(does)}
    return {
        "anyOf": [
            {**_closed(own), "required": ["severity", "message"]},
            {**_closed({**own, **taken}), "required": ["behaviour"]},
        ]
    }


def _example(keys: Iterable[str]) -> Schema:
    return {**_closed(_typed(Example, keys)), "oneOf": [{"required": ["bad"]}, {"required": ["ok"]}]}


def _typed(kind: type, keys: Iterable[str]) -> dict[str, Schema]:
    """Return what each key may hold, by the type of the field that it is read into; anything where there is no such field."""
    hints = typing.get_type_hints(kind)
    return {key: _of_type(hints[key]) if key in hints else {} for key in sorted(keys)}


def _of_type(hint: Any) -> Schema:
    arguments = typing.get_args(hint)
    if hint in (bool, bool | None):
        return {"type": "boolean"}
    if hint in (Severity, Safety):
        return _enum(hint)
    if hint in (str, Path, VersionRange, re.Pattern[str] | None):
        return {"type": "string"}
    if arguments and arguments[0] is Condition:
        return {"$ref": "#/definitions/conditions"}
    if arguments and arguments[0] is str and arguments[-1] is ...:
        return _WORD_OR_WORDS
    return {"type": "object"} if typing.get_origin(hint) in (Mapping, dict) else {}


def schemas() -> dict[str, Schema]:
    """Return the schemas by the names of their files."""
    return {"mpslint.schema.json": configuration_schema(), "rule.schema.json": rule_schema()}


if __name__ == "__main__":
    for name, schema in schemas().items():
        (ROOT / "schemas" / name).write_text(schema_text(schema), encoding="utf-8")
