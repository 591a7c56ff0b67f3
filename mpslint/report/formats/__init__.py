"""The formats of a report: the two for people, JSON, and a module for each other one, which has its name."""

from __future__ import annotations

import importlib
import io
import pkgutil

from mpslint.report.records import CheckReport

TEXT, CONCISE, JSON = "text", "concise", "json"


def format_names() -> list[str]:
    """Return the names of all formats, text first."""
    return [TEXT, *sorted([CONCISE, JSON, *(module.name for module in pkgutil.iter_modules(__path__))])]


def render(name: str, report: CheckReport) -> str:
    """Return a report in the format of this name, ending with a line end unless it is empty."""
    if name == JSON:
        from mpslint.report.machine import report_text

        return report_text(report.files)
    if name in (TEXT, CONCISE):  # as it is printed, without colours; concise with one line a finding, as `--quiet` prints it
        from mpslint.report.terminal import Terminal
        from mpslint.report.text import print_report

        stream = io.StringIO()
        print_report(Terminal(stream), report.files, report.quiet or name == CONCISE, report.paths, is_unfit=report.is_unfit)
        return stream.getvalue()
    text: str = importlib.import_module(f"{__name__}.{name}").render(report)
    return text
