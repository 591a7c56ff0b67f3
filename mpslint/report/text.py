"""The report for a terminal: place, source, cause and fix; no colours where nobody sees them."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from mpslint.finding import Finding, Safety, Severity, Span
from mpslint.session import FileResult
from mpslint.source.document import Document
from mpslint.target import Target

COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}
NARROWEST, WIDEST = 60, 120
PIPE_WIDTH = 200
"""Columns of a table where no terminal says how many there are."""
SHOWN_PACKAGES = ("torch", "transformers", "accelerate", "trl", "peft", "lightning", "diffusers", "bitsandbytes", "datasets")


def console(stderr: bool = False) -> Console:
    """Return a console that knows whether anybody sees colours (NO_COLOR, a pipe)."""
    is_terminal = (sys.stderr if stderr else sys.stdout).isatty()
    width = None if is_terminal else PIPE_WIDTH
    return Console(stderr=stderr, highlight=False, soft_wrap=True, emoji=False, markup=False, width=width)


def text_width() -> int:
    """Return how wide prose may be: the terminal's width within limits."""
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size((100, 24)).columns))


def print_report(out: Console, results: Sequence[FileResult], quiet: bool = False) -> None:
    """Print every finding with its source, then what was not read, then the summary."""
    checked = [result.checked for result in results if result.checked is not None]
    shown_target = ""
    for one in checked:
        if not one.findings:
            continue
        line = target_line(one.target, one.document)
        if line != shown_target:
            out.print(Text(f"For {line}", style="dim"))
            shown_target = line
        for finding in one.findings:
            print_finding(out, one.document, finding, quiet)
    for one in checked:
        for part in one.unread if not quiet else ():
            out.print(Text.assemble((place_of(one.document, part.span), "bold"), f" not read: {part.reason}"))
    print_summary(out, results)


def target_line(target: Target, document: Document) -> str:
    """Return the Target in words, with the packages that the file speaks of."""
    named = tuple(name for name in SHOWN_PACKAGES if name.replace("-", "_") in document.text or name in document.text)
    if "transformers" in named or "trl" in named:
        named = tuple(name for name in SHOWN_PACKAGES if name in named or name in ("torch", "transformers", "accelerate"))
    return target.describe(named or ("torch",))


def place_of(document: Document, span: Span) -> str:
    """Return a place as terminals and editors can follow it: `train.py:7:5`, `train.ipynb:cell 12:7:5`."""
    place = document.place(span.start)
    cell = f"cell {place.cell}:" if place.cell is not None else ""
    return f"{document.path}:{cell}{place.line}:{place.column}"


def print_finding(out: Console, document: Document, finding: Finding, quiet: bool = False) -> None:
    """Print one finding: a headline, the source with the place marked, where the value comes from, why, and the fix."""
    colour = COLOURS[finding.severity]
    place = place_of(document, finding.span)
    if quiet:
        out.print(Text.assemble((place, "bold"), " ", (finding.severity.value, colour), f" {finding.rule} {finding.message}"))
        return
    out.print(Text.assemble((place, "bold"), "  ", (finding.severity.value, colour), " ", (finding.rule, "bold"), f" {finding.name}"))
    _print_wrapped(out, "  ", finding.message)
    for line in source_frame(document, finding.span):
        out.print(line)
    for related in finding.related:
        _print_wrapped(out, "  from  ", f"{related.message} ({_short_place(document, related.span)})", "dim")
    if finding.why:
        _print_wrapped(out, "  why   ", finding.why, "dim")
    if finding.fix is not None:
        _print_fix(out, finding)
    out.print()


def _short_place(document: Document, span: Span) -> str:
    place = document.place(span.start)
    return f"cell {place.cell}, line {place.line}" if place.cell is not None else f"line {place.line}"


def _print_fix(out: Console, finding: Finding) -> None:
    fix = finding.fix
    assert fix is not None
    if fix.safety is Safety.MANUAL:
        _print_wrapped(out, "  do    ", fix.summary, "green")
        return
    reason = f": {fix.reason}" if fix.reason else ""
    _print_wrapped(out, "  fix   ", f"{fix.summary}   ({fix.safety.value}{reason})", "green")


def _print_wrapped(out: Console, label: str, text: str, style: str = "") -> None:
    """Print a paragraph with its lines under one another; unwrapped where the output is not a terminal."""
    if not out.is_terminal:
        out.print(Text.assemble(label, (text, style)))
        return
    indent = " " * len(label)
    lines = textwrap.wrap(text, text_width() - len(label), break_long_words=False, break_on_hyphens=False) or [""]
    for number, line in enumerate(lines):
        out.print(Text.assemble(label if number == 0 else indent, (line, style)))


def source_frame(document: Document, span: Span) -> list[Text]:
    """Return the line of a place, the one before it, and a mark under what is meant."""
    line = document.line_at(span.start)
    cell = document.cell_at(span.start)
    first_of_cell = document.line_at(cell.span.start) if cell is not None else 1
    frame = []
    for number in (line - 1, line):
        if number >= first_of_cell:
            shown = number - first_of_cell + 1
            text = document.line_text(number).replace("\t", " ")
            frame.append(Text.assemble((f"  {shown:>5} | ", "blue"), _cut(text)))
    column = span.start - document.line_starts[line - 1]
    end = min(span.end - document.line_starts[line - 1], len(document.line_text(line)))
    frame.append(Text.assemble((f"  {'':>5} | ", "blue"), " " * column, ("^" * max(1, end - column), "bold red")))
    return frame if column < 160 else frame[:-1]


def _cut(text: str) -> str:
    return text if len(text) <= 160 else text[:157] + "..."


def print_summary(out: Console, results: Sequence[FileResult]) -> None:
    """Print the counts, and how much of it can be mended how."""
    findings = [finding for result in results for finding in result.findings]
    files = sum(1 for result in results if result.checked is not None)
    if not findings:
        if files:
            out.print(Text(f"Nothing wrong for MPS in {_count(files, 'file')}.", style="green"))
        return
    by_severity = Counter(finding.severity for finding in findings)
    counts = ", ".join(_count(by_severity[severity], severity.value) for severity in Severity if by_severity[severity])
    touched = sum(1 for result in results if result.findings)
    out.print(Text.assemble((counts, "bold"), f" in {_count(touched, 'file')}" + (f" of {files}" if files > touched else "") + "."))
    by_safety = Counter(finding.fix.safety for finding in findings if finding.fix is not None)
    safe, unsafe = by_safety[Safety.SAFE], by_safety[Safety.UNSAFE]
    if safe or unsafe:
        parts = [f"{safe} can be fixed safely: mpslint fix"] if safe else []
        parts += [f"{unsafe} {'more ' if safe else ''}with --unsafe, which changes the run"] if unsafe else []
        out.print("; ".join(parts))


def print_statistics(out: Console, results: Sequence[FileResult]) -> None:
    """Print how often each rule was found, most first."""
    rows = Counter((finding.rule, finding.name, finding.severity) for result in results for finding in result.findings)
    for (rule, name, severity), count in sorted(rows.items(), key=lambda row: (-row[1], row[0][0])):
        out.print(Text.assemble(f"{count:>6}  ", (severity.value.ljust(8), COLOURS[severity]), (rule, "bold"), f" {name}"))


def print_problems(results: Sequence[FileResult]) -> None:
    """Print, on standard error, one line for each file that could not be read."""
    err = console(stderr=True)
    for result in results:
        if result.problem:
            err.print(Text.assemble(("mpslint: ", "bold"), result.problem))
    sys.stderr.flush()


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
