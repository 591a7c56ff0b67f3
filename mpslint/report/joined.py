"""What check says of the source of a diagnosed error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from mpslint.diagnose.joining import Source
from mpslint.report.finding import place_in, print_finding
from mpslint.report.terminal import Terminal
from mpslint.report.text import counted


def print_sources(out: Terminal, sources: Sequence[Source]) -> None:
    """Print, for each source, the findings that explain the error, and the command that mends them."""
    for source in sources:
        out.line()
        if not source.explaining:
            out.line((f"In {source.path}: ", "bold"), _nothing(source))
            continue
        out.line((f"In {source.path}, what explains it", "bold"))
        out.line((f"For {source.target}", "dim"))
        out.line()
        for one in source.explaining:
            if one.in_traceback:
                out.line(("the traceback ends on this line:", "bold"))
            print_finding(out, source.path, one.finding)
            out.line()
        if source.fix_command:
            out.line(("Fix: ", "bold"), source.fix_command)
        if source.others:
            out.line(f"{counted(source.others, 'other finding')}: mpslint check {source.path}")


def _nothing(source: Source) -> str:
    if source.others:
        return f"none of {counted(source.others, 'finding')} explains this error (mpslint check {source.path})."
    return "mpslint check finds nothing that would explain it."


def sources_markdown(sources: Sequence[Source]) -> str:
    """Return the same as Markdown; nothing without sources."""
    lines: list[str] = []
    for source in sources:
        lines += ["", f"### In `{source.path}`", ""]
        lines += [
            f"- `{place_in(source.path, one.finding.place)}` {one.finding.severity} {one.finding.rule}: {one.finding.message}"
            + (" (the traceback ends on this line)" if one.in_traceback else "")
            for one in source.explaining
        ] or [_nothing(source)]
        if source.fix_command:
            lines += ["", f"Fix: `{source.fix_command}`"]
    return "\n".join(lines) + "\n" if lines else ""


def sources_json(sources: Sequence[Source]) -> list[dict[str, Any]]:
    """Return the same as plain data."""
    return [asdict(source) for source in sources]
