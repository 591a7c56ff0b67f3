"""What is worth a line on standard error though nobody asked for it: what was passed over on the way to a result."""

from __future__ import annotations

from collections.abc import Mapping

_LINES: dict[str, str] = {}


def notice(about: str, line: str) -> None:
    """Have a line said when the work is done; the first line about something counts."""
    _LINES.setdefault(about, line)


def forget(about: str) -> None:
    """Have no line said about something: another one is."""
    _LINES[about] = ""


def taken() -> Mapping[str, str]:
    """Return the lines since the last time, by what they are about; '' where none is to be said."""
    lines = dict(_LINES)
    _LINES.clear()
    return lines
