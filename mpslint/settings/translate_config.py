"""Configuration files -> settings: which file is whose, told by its keys, and what its entries say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mpslint.config.entries import ConfigEntry, ConfigMapping, ConfigScalar
from mpslint.config.variables import variables_of
from mpslint.finding import Span
from mpslint.program.facts import EnvironmentWrite
from mpslint.program.values import UNKNOWN, Known, OneOf, Value
from mpslint.record import record
from mpslint.settings.dialect import CallPattern, ConfigPattern, Dialects, Spelling
from mpslint.settings.setting import Setting
from mpslint.settings.translate import read_value
from mpslint.versions import Version


@record(frozen=True, slots=True, eq=False)
class ConfigPart:
    """One way to read a mapping of a configuration file."""

    mapping: ConfigMapping
    pattern: ConfigPattern
    place: Span
    """The key by which the file is known."""


def parts_of(mapping: ConfigMapping, dialects: Dialects) -> list[ConfigPart]:
    """Return what a mapping can be read as; nothing for one that no dialect knows."""
    return [ConfigPart(mapping, pattern, _place(mapping, pattern)) for pattern in dialects.configs if _fits(mapping, pattern)]


def _fits(mapping: ConfigMapping, pattern: ConfigPattern) -> bool:
    if not all(mapping.get(key) for key in pattern.needs) or any(mapping.get(key) for key in pattern.lacks):
        return False
    return not pattern.has or any(mapping.get(key) for key in pattern.has)


def _place(mapping: ConfigMapping, pattern: ConfigPattern) -> Span:
    found = next(entry for key in (*pattern.needs, *pattern.has) if (entry := mapping.get(key)) is not None)
    return found.span


def may_be_config(text: str, dialects: Dialects) -> bool:
    """Return whether a text that cannot be read has the keys of a file that some dialect reads, each on a line of its own."""
    keys = set(re.findall(r"^[ \t\"']*(\w+)[\"']?[ \t]*:", text, re.MULTILINE))
    return any(keys.issuperset(p.needs) and (not p.has or keys & set(p.has)) and not keys & set(p.lacks) for p in dialects.configs)


def config_settings(part: ConfigPart, versions: Mapping[str, Version]) -> list[Setting]:
    """Return everything that a mapping says, written or by default."""
    pattern = part.pattern.call
    found = [
        Setting(name, Known(value), pattern.dialect, part.pattern.title, part.place, pattern=pattern, mapping=part.mapping, style="config")
        for name, value in pattern.sets.items()
    ]
    spoken = [spelling.setting for spellings in pattern.table.arguments.values() for spelling in spellings]
    for name in dict.fromkeys([*spoken, *pattern.table.defaults]):
        setting = _setting(part, pattern, name, versions)
        if setting is not None:
            found.append(setting)
    return found


def _setting(part: ConfigPart, pattern: CallPattern, name: str, versions: Mapping[str, Version]) -> Setting | None:
    """Return what a mapping says about one setting: the first key that decides it, else the default."""
    silent: Setting | None = None
    unknown: Setting | None = None
    for key, spelling in pattern.table.spellings_of(name):
        entry = part.mapping.get(key)
        if entry is None or (spelling.when and not _is_true(part.mapping.get(spelling.when))):
            continue
        value = read_value(spelling, entry.value)
        if value is None:
            silent = silent or _written(part, pattern, key, spelling, entry, UNKNOWN)
        elif isinstance(value, (Known, OneOf)):
            return _written(part, pattern, key, spelling, entry, value)
        else:
            unknown = unknown or _written(part, pattern, key, spelling, entry, UNKNOWN)
    if unknown is not None:
        return unknown
    default = pattern.table.default(name, versions)
    if default is None or not part.pattern.has_defaults:
        return silent if silent is not None and default is not None else None
    if silent is not None and silent.config is not None and silent.entry is not None:
        return _written(part, pattern, silent.spelling, silent.entry, silent.config, Known(default.value))
    key = next((key for key, _ in pattern.table.spellings_of(name)), "")
    return Setting(
        name, Known(default.value), pattern.dialect, key, None, pattern=pattern, default_versions=default.versions, style="config",
        mapping=part.mapping, place=part.place,
    )  # fmt: skip


def _written(part: ConfigPart, pattern: CallPattern, key: str, spelling: Spelling, entry: ConfigEntry, value: Value) -> Setting:
    value_span = entry.value_span if isinstance(entry.node, ConfigScalar) else None
    return Setting(
        spelling.setting, value, pattern.dialect, key, entry.span, value_span, entry.origin or value_span, pattern=pattern,
        entry=spelling, style="config", mapping=part.mapping, config=entry, place=part.place,
    )  # fmt: skip


def _is_true(entry: ConfigEntry | None) -> bool:
    return entry is not None and isinstance(entry.value, Known) and bool(entry.value.value)


def environment_of(part: ConfigPart) -> Iterator[EnvironmentWrite]:
    """Yield the environment variables that the framework sets by a configuration file."""
    mapping = part.mapping.mapping(part.pattern.environment) if part.pattern.environment else None
    if mapping is not None:
        yield from variables_of(mapping)
