"""Rewrites as diffs: coloured and cell by cell for people, unified for machines."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence

from mpslint.engine import Checked
from mpslint.finding import Finding, Safety
from mpslint.report.terminal import Terminal
from mpslint.report.text import COLOURS, place_in
from mpslint.rewrite.apply import Fixed

CONTEXT_LINES = 2
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def print_fixed(out: Terminal, fixed: Fixed) -> None:
    """Print what was (or would be) rewritten in one file: a diff per cell, then what each rewrite is for."""
    if not fixed.is_changed:
        return
    for name, lines in cell_diffs(fixed.before, fixed.after):
        out.line((name, "bold"))
        for line in lines:
            out.line((line, _STYLES.get(line[:1], "")))
        out.line()
    for finding in fixed.applied:
        fix = finding.fix
        assert fix is not None
        out.line("  ", (finding.rule, "bold"), f" {finding.name}: {fix.summary}")
    out.line()


def print_left(out: Terminal, fixed: Fixed) -> None:
    """Print what is left in one file, and why it was not rewritten."""
    for finding in fixed.after.findings:
        if finding.severity.rank < 2 or _is_held_back(finding):
            severity = (finding.severity.value, COLOURS[finding.severity.value])
            document = fixed.after.document
            place = (place_in(document.path, document.place(finding.span.start)), "bold")
            out.line("  left  ", place, " ", severity, f" {finding.rule}: {_why_left(finding)}")


def _is_held_back(finding: Finding) -> bool:
    return finding.fix is not None and finding.fix.safety is Safety.UNSAFE


def _why_left(finding: Finding) -> str:
    fix = finding.fix
    if fix is None:
        return "no fix is known"
    if fix.safety is Safety.MANUAL:
        return f"by hand: {fix.summary}"
    reason = f" ({fix.reason})" if fix.reason else ""
    return f"unsafe: {fix.summary}{reason}"


def cell_diffs(before: Checked, after: Checked) -> Iterator[tuple[str, list[str]]]:
    """Yield (headline, diff lines) for each cell, or for the file, that changed."""
    path = before.document.path
    if not before.document.cells:
        lines = _diff(before.document.text, after.document.text)
        if lines:
            yield path, lines
        return
    for old, new in zip(before.document.cells, after.document.cells, strict=True):
        lines = _diff(before.document.text[old.span.start : old.span.end], after.document.text[new.span.start : new.span.end])
        if lines:
            yield f"{path} cell {old.number}", lines


def _diff(old: str, new: str) -> list[str]:
    return list(difflib.unified_diff(old.split("\n"), new.split("\n"), lineterm="", n=CONTEXT_LINES))[2:]


def unified_diff(path: str, before: bytes, after: bytes) -> str:
    """Return a plain unified diff of the file itself, as `patch` and `git apply` take it."""
    old, new = (_LINE.findall(data.decode("utf-8", "surrogateescape")) for data in (before, after))
    return "".join(_with_newlines(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}")))


def _with_newlines(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def summary(results: Sequence[Fixed], apply: bool, unsafe: bool) -> str:
    """Return what was done and what was held back, in a sentence or two."""
    fixes = sum(len(fixed.applied) for fixed in results)
    files = sum(1 for fixed in results if fixed.is_changed)
    held = sum(len(fixed.held_back) for fixed in results)
    if not fixes:
        said = "Nothing to fix."
    else:
        verb = "Fixed" if apply else "Would fix"
        said = f"{verb} {fixes} finding{'s' if fixes != 1 else ''} in {files} file{'s' if files != 1 else ''}."
        said += "" if apply else " Write with --apply."
    if held and not unsafe:
        fixes_are, them = ("fix", "it changes the run; show it") if held == 1 else ("fixes", "they change the run; show them")
        said += f" {held} unsafe {fixes_are} held back, because {them} with --unsafe."
    return said
