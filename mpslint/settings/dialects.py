"""All dialects together, read from `rules/dialects/`, in the form that `tests/knowledge/dialects.yaml` holds them to."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mpslint.core.knowledge import given_fields, knowledge_files, read_yaml
from mpslint.core.versions import VersionRange
from mpslint.settings.dialect import (
    AttributePattern,
    CallPattern,
    CommandPattern,
    ConfigPattern,
    Default,
    Dialect,
    Dialects,
    Globs,
    NodePattern,
    Spelling,
    Table,
)

_OF_CALL = ("role", "table", "sets")
"""What a command or a configuration file says as a call does."""


@functools.lru_cache(maxsize=1)
def load_dialects() -> Dialects:
    """Return every dialect. Raises RuleError naming the file and the key that is wrong."""
    return Dialects(tuple(read_dialect(path) for path in knowledge_files("dialects")))


def read_dialect(path: Path) -> Dialect:
    """Return the dialect of one file."""
    data = read_yaml(path)
    tables = _read_tables(path)
    calls = tuple(_read_call(path, data["dialect"], call, tables) for call in data.get("calls") or ())
    attributes = []
    for attribute in data.get("attributes") or ():
        spelling = _read_spelling({key: value for key, value in attribute.items() if key not in ("path", "name")})
        attributes.append(AttributePattern(attribute["path"], attribute["name"], spelling))
    environment = {name: _read_spelling(spelling) for name, spelling in (data.get("environment") or {}).items()}
    commands = tuple(_read_command(path, data["dialect"], command, tables) for command in data.get("commands") or ())
    configs = tuple(_read_config(path, data["dialect"], config, tables) for config in data.get("configs") or ())
    nodes = tuple(NodePattern(**node) for node in data.get("nodes") or ())
    return Dialect(data["dialect"], tuple(data["roots"]), calls, tuple(attributes), environment, tables, commands, configs, nodes)


@functools.lru_cache(maxsize=64)
def _read_tables(path: Path) -> dict[str, Table]:
    """Return the tables of a dialect file by name."""
    tables: dict[str, Table] = {}
    for name, table in (read_yaml(path).get("tables") or {}).items():
        tables[name] = _read_table(path, table, tables)
    return tables


def _find_table(path: Path, name: str, tables: Mapping[str, Table]) -> Table:
    """Return a table of the same file, or of another one (`transformers/training_arguments`)."""
    file, slash, rest = name.rpartition("/")
    return _read_tables(path.with_name(f"{file}.yaml"))[rest] if slash else tables[name]


def _read_command(path: Path, dialect: str, data: Mapping[str, Any], tables: Mapping[str, Table]) -> CommandPattern:
    call = _read_call(path, dialect, {key: data[key] for key in _OF_CALL if key in data}, tables)
    return CommandPattern(**{"has": (), **given_fields(CommandPattern, data), "programs": Globs(tuple(data["programs"])), "call": call})


def _read_config(path: Path, dialect: str, data: Mapping[str, Any], tables: Mapping[str, Table]) -> ConfigPattern:
    call = _read_call(path, dialect, {key: data[key] for key in _OF_CALL if key in data}, tables)
    has_defaults, only = data.get("defaults", True), frozenset(data.get("only", ()))
    return ConfigPattern(**{"needs": (), **given_fields(ConfigPattern, data), "call": call, "only": only, "has_defaults": has_defaults})


def _read_table(path: Path, data: Mapping[str, Any], tables: Mapping[str, Table]) -> Table:
    base = _find_table(path, data["extends"], tables) if "extends" in data else Table({}, (), {})
    arguments = {
        key: tuple(_read_spelling(one) for one in (value if isinstance(value, list) else [value]))
        for key, value in (data.get("arguments") or {}).items()
    }
    for argument, other in (data.get("mappings") or {}).items():
        held = _find_table(path, other, tables)
        arguments.update({f"{argument}.{key}": value for key, value in held.arguments.items() if key not in held.positional})
    defaults = {key: _read_defaults(value) for key, value in (data.get("defaults") or {}).items()}
    positional, seldom = tuple(data.get("positional", base.positional)), frozenset(data.get("seldom", base.seldom))
    return Table({**base.arguments, **arguments}, positional, {**base.defaults, **defaults}, seldom)


def _read_spelling(data: Any) -> Spelling:
    return Spelling(data) if isinstance(data, str) else Spelling(**data)


def _read_defaults(data: Any) -> tuple[Default, ...]:
    rows = data if isinstance(data, list) else [{"value": data}]
    return tuple(Default(row["value"], VersionRange.parse(row.get("versions", ""))) for row in rows)


def _read_call(path: Path, dialect: str, data: Mapping[str, Any], tables: Mapping[str, Table]) -> CallPattern:
    table = _find_table(path, data["table"], tables) if "table" in data else Table({}, (), {})
    return CallPattern(**{**given_fields(CallPattern, data), "dialect": dialect, "table": table})
