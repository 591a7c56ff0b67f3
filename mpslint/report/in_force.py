"""What is in force for a path, for people and as data.

{"schema": 1, "path", "file": path | null, "keys": {key: {"value", "source": path | "default"}},
 "rules": {"asked": [id], "left_out": {id: key}}, "target": {name: {"version", "source"}},
 "memory_gib": {"value", "source"}, "chip": {"value", "source"}}
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mpslint.report.terminal import Terminal
from mpslint.session.effective import DEFAULT, InForce
from mpslint.session.view import versions_of

SCHEMA = 1
NAMES, VALUES = 24, 24
"""Columns for the name of a key and for its value."""
SHOWN_RULES = 12
"""Rules that are named of those that one reason leaves out; JSON names them all."""


def as_data(found: InForce) -> dict[str, Any]:
    """Return it as plain data."""
    return {
        "schema": SCHEMA,
        "path": found.path,
        "file": str(found.configuration.path) if found.configuration.path is not None else None,
        "keys": {key.name: {"value": key.value, "source": key.source} for key in found.keys},
        "rules": {"asked": [rule.id for rule in found.rules], "left_out": {rule.id: why for rule, why in found.left_out}},
        "target": versions_of(found.target),
        "memory_gib": {"value": found.target.memory_gib, "source": found.memory_source},
        "chip": {"value": found.target.chip or None, "source": found.chip_source},
    }


def print_in_force(out: Terminal, found: InForce) -> None:
    """Print the configuration file, each key with where it comes from, the rules, and the Target."""
    path = found.configuration.path
    out.line("For ", (found.path, "bold"))
    out.line(f"Configuration: {_short(str(path))}" if path is not None else "Configuration: no file found, so the defaults")
    out.line()
    for key in found.keys:
        _row(out, key.name, _value(key.name, key.value), _short(key.source), "dim" if key.source == DEFAULT else "")
    out.line()
    out.line(f"Rules: {len(found.rules)} of {len(found.rules) + len(found.left_out)}")
    for why in dict.fromkeys(why for _, why in found.left_out):
        ids = [rule.id for rule, reason in found.left_out if reason == why]
        more = f" and {len(ids) - SHOWN_RULES} more" if len(ids) > SHOWN_RULES else ""
        out.paragraph(f"  left out by {why}: ", ", ".join(ids[:SHOWN_RULES]) + more)
    out.line()
    out.line("Target")
    for name, row in versions_of(found.target).items():
        _row(out, f"  {name}", row["version"], row["source"])
    _row(out, "  memory", f"{found.target.memory_gib} GB" if found.target.memory_gib else "-", found.memory_source)
    _row(out, "  chip", found.target.chip or "-", found.chip_source)


def _row(out: Terminal, name: str, value: str, source: str, style: str = "") -> None:
    out.line((f"{name:<{NAMES}} {value:<{VALUES}} {source}", style))


def _value(name: str, value: Any) -> str:
    if value in ([], {}):
        return "every rule" if name == "select" else "-"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return "; ".join(f"{key} = {_value('', one)}" for key, one in value.items())
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _short(path: str) -> str:
    """Return a path from the current folder, where it lies below."""
    try:
        return Path(path).relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path
