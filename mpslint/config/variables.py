"""Environment variables as the values of a configuration file."""

from __future__ import annotations

from collections.abc import Iterator

from mpslint.facts.entries import ConfigMapping, ConfigScalar
from mpslint.facts.facts import EnvironmentWrite
from mpslint.facts.values import UNKNOWN, Known, Value


def variables_of(mapping: ConfigMapping) -> Iterator[EnvironmentWrite]:
    """Yield the variables that a mapping of names to values sets."""
    for name, entry in mapping.entries.items():
        if not isinstance(entry.node, ConfigScalar) or entry.value_span is None:
            continue
        known = entry.node.value
        value: Value = UNKNOWN
        if isinstance(known, Known) and known.value is not None and "$" not in str(known.value):
            value = Known(str(known.value).lower() if isinstance(known.value, bool) else str(known.value))
        place, at = entry.span, entry.value_span
        yield EnvironmentWrite(name, value, place.start, place.end, at.start, at.end, style="config")


def variable(name: str, text: str, start: int, value: tuple[int, int]) -> EnvironmentWrite:
    """Return the variable that `NAME=value` sets."""
    known: Value = UNKNOWN if "$" in text else Known(text)
    return EnvironmentWrite(name, known, start, value[1], value[0], value[1], style="dotenv")
