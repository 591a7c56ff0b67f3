"""Texts of sections with `key = value` lines (TOML, and the files that configparser reads) -> mappings with the place of every value."""

from __future__ import annotations

import re
from typing import Any

from mpslint.core.finding import Span
from mpslint.core.knowledge import parse_toml
from mpslint.facts.entries import ConfigFile, ConfigMapping, ConfigPair, ConfigScalar
from mpslint.facts.values import UNKNOWN, Known, Value

ENDINGS = (".toml", ".ini", ".cfg")
NOWHERE = Span(0, 0)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_SECTION = re.compile(r"[ \t]*\[(\[?)[ \t]*([^\[\]\r\n]+?)[ \t]*\]\]?[ \t]*(?:[#;][^\r\n]*)?\r?\n?")
_TOML = re.compile(r"[ \t]*([\w.-]+|\"[^\"\r\n]*\")[ \t]*=[ \t]*(\"[^\"\\\r\n]*\"|'[^'\r\n]*'|[\w.+-]+)[ \t]*(?:#[^\r\n]*)?\r?\n?")
_PLAIN = re.compile(r"([^\s=:#;\[][^=:\r\n]*?)[ \t]*[=:][ \t]*([^\r\n]*?)[ \t]*\r?\n?")


def read_sections(text: str, is_toml: bool) -> ConfigFile:
    """Return what a text holds: every value that stands on a line of its own; others are not known. Never raises."""
    try:
        whole = parse_toml(text) if is_toml else None
    except ValueError as error:
        return ConfigFile((), f"not valid TOML: {error}")
    root = ConfigMapping([], Span(0, len(text)))
    section: ConfigMapping | None = root
    path: tuple[str, ...] = ()
    for line in _LINE.finditer(text):
        head = _SECTION.fullmatch(text, *line.span())
        if head is not None:
            path = tuple(part.strip("\"'") for part in head[2].split(".")) if is_toml else (head[2],)
            section = None if head[1] else _below(root, path, Span(*line.span()))
            continue
        match = (_TOML if is_toml else _PLAIN).fullmatch(text, *line.span())
        if match is None or section is None:
            continue
        keys = tuple(match[1].strip('"').split(".")) if is_toml else (match[1].strip().lower(),)
        value = _held(whole, (*path, *keys), match[2]) if whole is not None else Known(match[2])
        if value is None:
            continue
        span = Span(*match.span(2))
        holder = _below(section, keys[:-1], span)
        holder.pairs.append(ConfigPair(keys[-1], Span(*match.span(1)), ConfigScalar(value, span)))
    if whole is not None:
        _complete(root, whole)
    return ConfigFile((root,))


def _complete(mapping: ConfigMapping, data: dict[str, Any]) -> None:
    """Add the keys whose values stand on no line of their own: they are there, and not known."""
    held = {pair.key: pair.node for pair in mapping.pairs}
    for key, value in data.items():
        below = held.get(key)
        if isinstance(below, ConfigMapping) and isinstance(value, dict):
            _complete(below, value)
        elif below is None:
            mapping.pairs.append(ConfigPair(key, NOWHERE, ConfigScalar(UNKNOWN, NOWHERE)))


def _below(mapping: ConfigMapping, path: tuple[str, ...], span: Span) -> ConfigMapping:
    """Return the mapping at a path, made where it is not there."""
    for key in path:
        found = next((pair.node for pair in mapping.pairs if pair.key == key), None)
        if not isinstance(found, ConfigMapping):
            found = ConfigMapping([], span)
            mapping.pairs.append(ConfigPair(key, Span(span.start, span.start), found))
        mapping = found
    return mapping


def _held(data: object, path: tuple[str, ...], written: str) -> Value | None:
    """Return the constant at a path of what was parsed, where it is what is written; None for a line that is part of something else."""
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    try:
        return Known(data) if data is not None and parse_toml(f"x = {written}") == {"x": data} else None
    except ValueError:
        return None
