"""What is in force for a path: the configuration, where each key of it comes from, the rules, and the Target."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mpslint.core.record import record
from mpslint.rule.loading import load_rules
from mpslint.rule.rule import Rule
from mpslint.rule.selection import select_rules
from mpslint.session.configuration import KEYS, Configuration
from mpslint.session.session import Options, configuration_for, open_document, read_bytes, rules_for
from mpslint.session.targeting import CONFIGURATION, OPTIONS, THIS_MAC, target_for
from mpslint.source.document import Document, Kind
from mpslint.source.files import STANDARD_INPUT, FoundFile
from mpslint.target.target import Target

DEFAULT = "default"
OVERRIDE = "--config"
NOT_SET = "not set"


@record(frozen=True, slots=True)
class Key:
    """One key of the configuration: its value, and the file that says it, or `default`."""

    name: str
    value: Any
    source: str


@record(frozen=True, slots=True, eq=False)
class InForce:
    """Everything but the file itself that its findings depend on."""

    path: str
    configuration: Configuration
    keys: tuple[Key, ...]
    rules: tuple[Rule, ...]
    left_out: tuple[tuple[Rule, str], ...]
    """Rules that are not asked, and why."""
    target: Target
    memory_source: str
    chip_source: str


def in_force(path: str, options: Options) -> InForce:
    """Return what is in force for a file or folder. Raises UsageError for a configuration that is wrong, ReadError for such a file."""
    configuration = configuration_for(path, options)
    document = _document(path, options)
    target = target_for(document, configuration, options.target, options.observed)
    rules = rules_for(path, configuration, options)
    left_out = tuple(_left_out(rules, configuration, options))
    memory, chip = (_source(name, configuration, options, said) for name, said in (("memory", target.memory_gib), ("chip", target.chip)))
    return InForce(path, configuration, tuple(_keys(configuration)), rules, left_out, target, memory, chip)


def _document(path: str, options: Options) -> Document:
    """Return a file's Document, for the versions that a notebook installs itself; a folder is an empty one."""
    if path != STANDARD_INPUT and os.path.isdir(path):
        return Document(path, Kind.PYTHON, "")
    found = FoundFile(path) if path == STANDARD_INPUT or os.path.exists(path) else FoundFile(path, "no such file or folder")
    return open_document(found, read_bytes(found, options), options)


def _keys(configuration: Configuration) -> Iterator[Key]:
    for name in KEYS:
        value = getattr(configuration, name.replace("-", "_"))
        source = OVERRIDE if name in configuration.overridden else str(configuration.path) if name in configuration.written else DEFAULT
        yield Key(name, _plain(value), source)


def _plain(value: Any) -> Any:
    """Return a value as TOML and JSON have it."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return str(value) if isinstance(value, Path) else getattr(value, "value", value)


def _left_out(asked: Sequence[Rule], configuration: Configuration, options: Options) -> Iterator[tuple[Rule, str]]:
    """Yield the rules that are not asked, with the first reason."""
    rules = load_rules(configuration.rules)
    chosen, more = options.selected(configuration), options.extend_select
    selected = select_rules(rules, chosen, (), more)
    kept = select_rules(rules, chosen, (*configuration.ignore, *options.ignore), more)
    for rule in rules:
        if rule not in selected:
            yield rule, "on request" if rule.on_request and not chosen else "select"
        elif rule not in asked:
            yield rule, "ignore" if rule not in kept else "per-file-ignores"


def _source(name: str, configuration: Configuration, options: Options, said: object) -> str:
    if not said:
        return NOT_SET
    return OPTIONS if name in options.target else CONFIGURATION if name in configuration.target else THIS_MAC
