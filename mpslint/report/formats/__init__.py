"""The formats of a report: each module renders a Report as text, and its name is the name of the format."""

from __future__ import annotations

import importlib
import pkgutil

from mpslint.report.records import CheckReport


def format_names() -> list[str]:
    """Return the names of all formats, text first."""
    return sorted((module.name for module in pkgutil.iter_modules(__path__)), key=lambda name: (name != "text", name))


def render(name: str, report: CheckReport) -> str:
    """Return a report in the format of this name, ending with a line end unless it is empty."""
    text: str = importlib.import_module(f"{__name__}.{name}").render(report)
    return text
