"""Read the files of `rules/dialects/`, and say what is wrong with them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mpslint.core.finding import RuleError
from mpslint.core.knowledge import given_fields, read_yaml
from mpslint.core.versions import VersionRange
from mpslint.settings.dialect import (
    AttributePattern,
    CallPattern,
    CommandPattern,
    ConfigPattern,
    Default,
    Dialect,
    Globs,
    NodePattern,
    Spelling,
    Table,
)
from mpslint.settings.roles import check_role, closest
from mpslint.settings.vocabulary import load_vocabulary

READERS = ("plain", "word", "words", "kind", "device", "devices", "dtype", "gpu", "presence", "number", "switch", "rows")
"""How a value is read: as it is; as a word (`IntervalStrategy.EPOCH` is `epoch`), or as that or the class of an object (`DDPStrategy()` is
`ddpstrategy`); as a device, a dtype or a number; as the number of devices that there must be (`[6]` is 7), or of the rows of a data set;
whether it is there."""
_CALL_KEYS = {*CallPattern.__annotations__} - {"dialect"}


def read_dialect(path: Path) -> Dialect:
    """Return the dialect of one file. Raises RuleError naming the file and the key that is wrong."""
    data = read_yaml(path)
    _only(path, data, {"dialect", "roots", "tables", "calls", "attributes", "environment", "commands", "configs", "nodes"})
    tables = _read_tables(path)
    calls = tuple(_read_call(path, data["dialect"], call, tables) for call in data.get("calls") or ())
    attributes = []
    for attribute in data.get("attributes") or ():
        spelling = _read_spelling(path, {k: v for k, v in attribute.items() if k not in ("path", "name")})
        attributes.append(AttributePattern(attribute["path"], attribute["name"], spelling))
    environment = {name: _read_spelling(path, spelling) for name, spelling in (data.get("environment") or {}).items()}
    commands = tuple(_read_command(path, data["dialect"], command, tables) for command in data.get("commands") or ())
    configs = tuple(_read_config(path, data["dialect"], config, tables) for config in data.get("configs") or ())
    for node in data.get("nodes") or ():
        _only(path, node, {*NodePattern.__annotations__})
    nodes = tuple(NodePattern(**node) for node in data.get("nodes") or ())
    return Dialect(data["dialect"], tuple(data["roots"]), calls, tuple(attributes), environment, tables, commands, configs, nodes)


@functools.lru_cache(maxsize=64)
def _read_tables(path: Path) -> dict[str, Table]:
    """Return the tables of a dialect file by name."""
    tables: dict[str, Table] = {}
    for name, table in (read_yaml(path).get("tables") or {}).items():
        tables[name] = _read_table(path, name, table, tables)
    return tables


def _find_table(path: Path, name: str, tables: Mapping[str, Table]) -> Table | None:
    """Return a table of the same file, or of another one (`transformers/training_arguments`)."""
    file, slash, rest = name.rpartition("/")
    return _read_tables(path.with_name(f"{file}.yaml")).get(rest) if slash else tables.get(name)


def _read_command(path: Path, dialect: str, data: Mapping[str, Any], tables: Mapping[str, Table]) -> CommandPattern:
    own = {"programs", "has", "lacks", "names", "where_absent"}
    _only(path, data, own | {"role", "table", "sets"})
    call = _read_call(path, dialect, {key: value for key, value in data.items() if key not in own}, tables)
    programs = Globs(tuple(data["programs"]))
    return CommandPattern(**{"has": (), **given_fields(CommandPattern, data), "programs": programs, "call": call})


def _read_config(path: Path, dialect: str, data: Mapping[str, Any], tables: Mapping[str, Table]) -> ConfigPattern:
    own = {"title", "needs", "has", "lacks", "at", "beside", "only", "environment", "defaults"}
    _only(path, data, own | {"role", "table", "sets"})
    call = _read_call(path, dialect, {key: value for key, value in data.items() if key not in own}, tables)
    if not (data.get("needs") or data.get("has")):
        raise RuleError(f"{path}: configs: {data['title']}: say by which keys it is known, in `needs` or `has`")
    has_defaults, only = data.get("defaults", True), frozenset(data.get("only", ()))
    return ConfigPattern(**{"needs": (), **given_fields(ConfigPattern, data), "call": call, "only": only, "has_defaults": has_defaults})


def _only(path: Path, data: Mapping[str, Any], allowed: set[str]) -> None:
    unknown = sorted(set(data) - allowed)
    if unknown:
        hint = closest(unknown[0], allowed) or f"; known keys: {', '.join(sorted(allowed))}"
        raise RuleError(f"{path}: unknown key {unknown[0]!r}{hint}")


def _read_table(path: Path, name: str, data: Mapping[str, Any], tables: Mapping[str, Table]) -> Table:
    _only(path, data, {"extends", "arguments", "mappings", "positional", "defaults", "seldom"})
    base = _find_table(path, data["extends"], tables) if "extends" in data else Table({}, (), {})
    if base is None:
        raise RuleError(f"{path}: table {name!r} extends {data['extends']!r}, which is not above it")
    arguments = {
        key: tuple(_read_spelling(path, one) for one in (value if isinstance(value, list) else [value]))
        for key, value in (data.get("arguments") or {}).items()
    }
    for argument, other in (data.get("mappings") or {}).items():
        held = _find_table(path, other, tables)
        if held is None:
            raise RuleError(f"{path}: table {name!r}: the mapping {argument!r} holds arguments of {other!r}, which is not above it")
        arguments.update({f"{argument}.{key}": value for key, value in held.arguments.items() if key not in held.positional})
    defaults = {key: _read_defaults(path, key, value) for key, value in (data.get("defaults") or {}).items()}
    seldom = frozenset(data.get("seldom", base.seldom))
    for setting in sorted(seldom):
        _check_setting(setting, f"{path}: seldom: unknown setting")
    positional = tuple(data.get("positional", base.positional))
    return Table({**base.arguments, **arguments}, positional, {**base.defaults, **defaults}, seldom)


def _check_setting(name: str, problem: str) -> None:
    if name not in load_vocabulary():
        raise RuleError(f"{problem} {name!r}{closest(name, load_vocabulary())}")


def _read_spelling(path: Path, data: Any) -> Spelling:
    if isinstance(data, str):
        data = {"setting": data}
    _only(path, data, {*Spelling.__annotations__})
    _check_setting(data["setting"], f"{path}: unknown setting")
    if data.get("reads", "plain") not in READERS:
        raise RuleError(f"{path}: {data['setting']}: unknown reader {data['reads']!r}; known: {', '.join(READERS)}")
    return Spelling(**data)


def _read_defaults(path: Path, setting: str, data: Any) -> tuple[Default, ...]:
    _check_setting(setting, f"{path}: default of an unknown setting")
    rows = data if isinstance(data, list) else [{"value": data}]
    return tuple(Default(row["value"], VersionRange.parse(row.get("versions", ""))) for row in rows)


def _read_call(path: Path, dialect: str, data: Mapping[str, Any], tables: Mapping[str, Table]) -> CallPattern:
    _only(path, data, _CALL_KEYS)
    table = _find_table(path, data["table"], tables) if "table" in data else Table({}, (), {})
    if table is None:
        raise RuleError(f"{path}: unknown table {data['table']!r}")
    for setting in (*data.get("sets", {}), *filter(None, [data.get("named"), data.get("rests_on")])):
        _check_setting(setting, f"{path}: {data['role']}: unknown setting")
    role = check_role(data["role"], str(path))
    return CallPattern(**{**given_fields(CallPattern, data), "dialect": dialect, "role": role, "table": table})
