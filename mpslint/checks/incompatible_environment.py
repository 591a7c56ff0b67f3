"""An environment in which no run can reach the Mac's GPU, or that pip refuses to install.

A check because it asks the Target, its pins and their sources, and no program.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mpslint.core.finding import Related, Span
from mpslint.core.knowledge import platform_data
from mpslint.core.versions import Version, format_version
from mpslint.rule.judge import Match
from mpslint.settings.evidence import Evidence
from mpslint.source.document import Kind
from mpslint.target.packages import needs_of, unavailable_with
from mpslint.target.requirement import PYTHON
from mpslint.target.resolve import NEWEST
from mpslint.target.target import Target

IMPORTS = tuple(platform_data("environment")["import_torch"] + platform_data("environment")["import_torch_by_name"])
_IMPORT = re.compile(rf"^[ \t]*((?:import|from)[ \t]+(?:{'|'.join(IMPORTS)})\b[^\n#]*)", re.MULTILINE)

_OWN_WAY = re.compile(r"\.(?:ya?ml|md|rst)$")
"""Files that say how to install everything; what another file pins is for those who install from that one."""


def find(evidence: Evidence, options: Mapping[str, Any]) -> Iterator[Match]:
    """Yield the first import of PyTorch, or of what imports it; what can't be installed is shown at its requirement.

    Options: `kind`, which is macos, python, conflict or wheel; `for`, the way (`Uninstallable.way`) in which some is asked for.
    """
    if "for" in options and all(one.way != options["for"] for one in evidence.target.uninstallable):
        return
    if options["kind"] == "wheel" and evidence.document.kind not in (Kind.PYTHON, Kind.NOTEBOOK):
        return
    values = dict(_values(evidence.target, options["kind"]))
    place = _place(evidence) if values else None
    if place is not None:
        yield Match(place, values, home=_home(evidence.target) if options["kind"] == "wheel" else None)


def _home(target: Target) -> Related | None:
    """Return the line of the first requirement that can't be installed."""
    first = target.uninstallable[0]
    column = max(0, first.text.find(first.written))
    end = column + len(first.written) if first.written in first.text else len(first.text)
    return Related(Span(column, end), first.text, first.path, first.line, column + 1) if first.path else None


def _place(evidence: Evidence) -> Span | None:
    if evidence.document.kind in (Kind.PYTHON, Kind.NOTEBOOK):
        match = _IMPORT.search(evidence.document.python)
        return Span(match.start(1), match.start(1) + len(match.group(1).rstrip())) if match is not None else None
    text = evidence.document.text
    first = re.search(r"\S[^\r\n]*", text) if evidence.plans else None
    return Span(first.start(), first.end()) if first is not None else None


def _values(target: Target, kind: str) -> Iterator[tuple[str, str]]:
    """Yield what the message is filled with; nothing where the versions go together."""
    versions = target.versions
    if kind == "macos":
        found = unavailable_with(versions)
        if found is not None:
            yield from (("change", found.change), ("effect", found.effect))
    elif kind == PYTHON and target.choices[PYTHON].source != NEWEST and not _python_fits(versions):
        need = next(need for need in needs_of("torch", versions["torch"]) if need.name == PYTHON)
        torch, python = target.choices["torch"], target.choices[PYTHON]
        if torch.source == NEWEST:
            return  # the project names no torch: what is installed with it is one that this Python has a wheel for
        if not torch.is_deduced and python.source != torch.source and _OWN_WAY.search(python.source):
            return
        yield "written", f"torch {torch.shown} ({torch.source}) has no wheel for Python {python.shown} ({python.source}) on Apple silicon"
        yield "spec", _spoken(need.spec)
    elif kind == "wheel" and target.uninstallable:
        first, *more = target.uninstallable
        yield "written", f"`{first.written}`" + (f" and {len(more)} more" if more else "")
        yield "file", os.path.basename(first.path) or "the requirements"
        yield from _remedies(target)
    elif kind == "conflict" and target.conflicts:
        yield "written", "; ".join(target.conflicts)


def _remedies(target: Target) -> Iterator[tuple[str, str]]:
    """Yield, by the way in which it is asked for, the first that can't be installed, and what to write in its place."""
    for one in reversed(target.uninstallable):  # of two values of a name the last one counts
        yield one.way, one.written
        yield f"{one.way}_instead", one.instead
        yield f"{one.way}_why", one.why


def _python_fits(versions: Mapping[str, Version]) -> bool:
    needs = needs_of("torch", versions["torch"]) if "torch" in versions else ()
    return PYTHON not in versions or all(need.admits(versions[PYTHON]) for need in needs if need.name == PYTHON)


def _spoken(spec: str) -> str:
    """Return `3.9 to 3.12` for `<3.13,>=3.9`."""
    match = re.fullmatch(r"<(\d+)\.(\d+),>=([\d.]+)", spec)
    return f"{match.group(3)} to {format_version((int(match.group(1)), int(match.group(2)) - 1))}" if match is not None else spec
