"""Configuration files -> settings: which file is whose, told by its keys, and what its entries say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mpslint.config.variables import variables_of
from mpslint.config.yaml_source import nodes_of
from mpslint.core.finding import Span
from mpslint.core.record import record
from mpslint.core.versions import Version
from mpslint.facts.entries import ConfigEntry, ConfigMapping, ConfigScalar
from mpslint.facts.facts import EnvironmentWrite
from mpslint.facts.values import UNKNOWN, Known, Symbol, Value
from mpslint.program.platform import load_platform
from mpslint.settings.dialect import CallPattern, ConfigPattern, Spelling
from mpslint.settings.dialects import load_dialects
from mpslint.settings.setting import Setting
from mpslint.settings.translate import deciding


@record(frozen=True, slots=True, eq=False)
class ConfigPart:
    """One way to read a mapping of a configuration file."""

    mapping: ConfigMapping
    pattern: ConfigPattern
    place: Span
    """The key by which the file is known."""


def parts_of(mapping: ConfigMapping) -> list[ConfigPart]:
    """Return what a mapping, and those below it, can be read as; nothing for one that no dialect knows."""
    found = []
    for pattern in load_dialects().configs:
        meant = mapping.mapping(pattern.at) if pattern.at else mapping
        is_beside = not pattern.beside or any(mapping.get(key) for key in pattern.beside)
        if meant is not None and is_beside and _fits(meant, pattern):
            known_by = next(entry for key in (*pattern.needs, *pattern.has) if (entry := meant.get(key)) is not None)
            found.append(ConfigPart(meant, pattern, known_by.span))
    known = {id(part.mapping) for part in found}
    return found + [part for part in _called(mapping) if id(part.mapping) not in known]


def _called(mapping: ConfigMapping) -> Iterator[ConfigPart]:
    """Yield the mappings that stand for a call which some dialect reads."""
    for node in nodes_of(mapping) if load_dialects().nodes else ():
        named = _callee(node)
        if named is None:
            continue
        name, key, arguments = named
        patterns = (p for p in load_dialects().of_name(name) if not (p.under or p.rests_on) and _has_arguments(arguments, p))
        if (call := next(patterns, None)) is not None:
            yield ConfigPart(arguments, ConfigPattern(name, call, (key.key,), has_defaults=False), key.span)


def _callee(node: ConfigMapping) -> tuple[str, ConfigEntry, ConfigMapping] | None:
    """Return the name, as rules know it, of what a mapping stands for a call of, the entry that names it, and the arguments."""
    written = {pair.key for pair in node.pairs}
    for pattern in load_dialects().nodes:
        key = node.entries.get(pattern.name) if pattern.name in written else None
        if key is not None and isinstance(key.value, Known) and isinstance(key.value.value, str):
            arguments = node.mapping(pattern.arguments) if pattern.arguments else node
            return load_platform().normalise(key.value.value), key, arguments or ConfigMapping([], node.span)
    return None


def _has_arguments(arguments: ConfigMapping, pattern: CallPattern) -> bool:
    given = arguments.entries
    return not any(name in given for name in pattern.lacks) and (not pattern.has or any(name in given for name in pattern.has))


def _fits(mapping: ConfigMapping, pattern: ConfigPattern) -> bool:
    if not all(mapping.get(key) for key in pattern.needs) or any(mapping.get(key) for key in pattern.lacks):
        return False
    if pattern.only and not pattern.only.issuperset(mapping.entries):
        return False
    return not pattern.has or any(mapping.get(key) for key in pattern.has)


def may_be_config(text: str) -> bool:
    """Return whether a text that cannot be read has the keys of a file that some dialect reads, each on a line of its own."""
    keys = set(re.findall(r"^[ \t\"']*(\w+)[\"']?[ \t]*:", text, re.MULTILINE))
    return any(
        keys.issuperset((*p.needs, *filter(None, p.at.split(".")))) and (not p.has or keys & set(p.has)) and not keys & set(p.lacks)
        for p in load_dialects().configs
    )


def config_settings(part: ConfigPart, versions: Mapping[str, Version]) -> list[Setting]:
    """Return everything that a mapping says, written or by default."""
    pattern = part.pattern.call
    named = {pattern.named: part.pattern.title.rsplit(".", 1)[-1].lower()} if pattern.named else {}
    found = [
        Setting(name, Known(value), pattern.dialect, part.pattern.title, part.place, pattern=pattern, mapping=part.mapping, style="config")
        for name, value in {**pattern.sets, **named}.items()
    ]
    said = (_setting(part, pattern, name, versions) for name in pattern.table.settings)
    return [*found, *(setting for setting in said if setting is not None)]


def _value(entry: ConfigEntry) -> Value:
    """Return what is known of an entry's value; of one that stands for a call, what is called."""
    called = _callee(entry.node) if isinstance(entry.node, ConfigMapping) else None
    return Symbol(called[0]) if called is not None else entry.value


def _setting(part: ConfigPart, pattern: CallPattern, name: str, versions: Mapping[str, Version]) -> Setting | None:
    """Return what a mapping says about one setting: the key that decides it, else the default."""
    said = deciding(pattern.table, name, part.mapping.get, _value)
    if said is not None and said[3] is not None:
        return _written(part, pattern, *said[:3], said[3])
    default = pattern.table.default(name, versions)
    if default is None:
        return None
    if said is not None:
        return _written(part, pattern, *said[:3], Known(default.value) if part.pattern.has_defaults else UNKNOWN)
    if not part.pattern.has_defaults:
        return None
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


def environment_of(part: ConfigPart) -> Iterator[EnvironmentWrite]:
    """Yield the environment variables that the framework sets by a configuration file."""
    mapping = part.mapping.mapping(part.pattern.environment) if part.pattern.environment else None
    if mapping is not None:
        yield from variables_of(mapping)
