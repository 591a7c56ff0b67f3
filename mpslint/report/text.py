"""The report for a terminal: place, source, cause and fix; no colours where nobody sees them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

from mpslint.finding import Finding, Safety, Severity, Span
from mpslint.report.terminal import Piece, Terminal, terminal
from mpslint.session import FileResult
from mpslint.source.document import Document
from mpslint.target import Target

COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}
LONGEST_LINE = 160
"""Characters of a source line that are shown."""
SHOWN_PACKAGES = ("torch", "transformers", "accelerate", "trl", "peft", "lightning", "diffusers", "bitsandbytes", "datasets")


def print_report(out: Terminal, results: Sequence[FileResult], quiet: bool = False) -> None:
    """Print every finding with its source, then what was not read, then the summary."""
    checked = [result.checked for result in results if result.checked is not None]
    shown_target = ""
    for one in checked:
        if not one.findings:
            continue
        line = target_line(one.target, one.document)
        if line != shown_target:
            out.line((f"For {line}", "dim"))
            shown_target = line
        for finding in one.findings:
            print_finding(out, one.document, finding, quiet)
    for one in checked:
        for part in one.unread if not quiet else ():
            out.line((place_of(one.document, part.span), "bold"), f" not read: {part.reason}")
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


def print_finding(out: Terminal, document: Document, finding: Finding, quiet: bool = False) -> None:
    """Print one finding: a headline, the source with the place marked, where the value comes from, why, and the fix."""
    colour = COLOURS[finding.severity]
    place = place_of(document, finding.span)
    if quiet:
        out.line((place, "bold"), " ", (finding.severity.value, colour), f" {finding.rule} {finding.message}")
        return
    out.line((place, "bold"), "  ", (finding.severity.value, colour), " ", (finding.rule, "bold"), f" {finding.name}")
    out.paragraph("  ", finding.message)
    for pieces in source_frame(document, finding.span):
        out.line(*pieces)
    for related in finding.related:
        out.paragraph("  from  ", f"{related.message} ({_short_place(document, related.span)})", "dim")
    if finding.why:
        out.paragraph("  why   ", finding.why, "dim")
    if finding.fix is not None:
        _print_fix(out, finding)
    out.line()


def _short_place(document: Document, span: Span) -> str:
    place = document.place(span.start)
    return f"cell {place.cell}, line {place.line}" if place.cell is not None else f"line {place.line}"


def _print_fix(out: Terminal, finding: Finding) -> None:
    fix = finding.fix
    assert fix is not None
    if fix.safety is Safety.MANUAL:
        out.paragraph("  do    ", fix.summary, "green")
        return
    reason = f": {fix.reason}" if fix.reason else ""
    out.paragraph("  fix   ", f"{fix.summary}   ({fix.safety.value}{reason})", "green")


def source_frame(document: Document, span: Span) -> list[tuple[Piece, ...]]:
    """Return the line of a place, the one before it, and a mark under what is meant."""
    line = document.line_at(span.start)
    cell = document.cell_at(span.start)
    first_of_cell = document.line_at(cell.span.start) if cell is not None else 1
    frame: list[tuple[Piece, ...]] = []
    for number in (line - 1, line):
        if number >= first_of_cell:
            shown = number - first_of_cell + 1
            text = document.line_text(number).replace("\t", " ")
            frame.append(((f"  {shown:>5} | ", "blue"), _cut(text)))
    column = span.start - document.line_starts[line - 1]
    end = min(span.end - document.line_starts[line - 1], len(document.line_text(line)))
    frame.append(((f"  {'':>5} | ", "blue"), " " * column, ("^" * max(1, end - column), "bold red")))
    return frame if column < LONGEST_LINE else frame[:-1]


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 3] + "..."


def print_summary(out: Terminal, results: Sequence[FileResult]) -> None:
    """Print the counts, and how much of it can be mended how."""
    findings = [finding for result in results for finding in result.findings]
    files = sum(1 for result in results if not result.problem)
    if not findings:
        if files:
            out.line((f"Nothing wrong for MPS in {_count(files, 'file')}.", "green"))
        return
    by_severity = Counter(finding.severity for finding in findings)
    counts = ", ".join(_count(by_severity[severity], severity.value) for severity in Severity if by_severity[severity])
    touched = sum(1 for result in results if result.findings)
    out.line((counts, "bold"), f" in {_count(touched, 'file')}" + (f" of {files}" if files > touched else "") + ".")
    by_safety = Counter(finding.fix.safety for finding in findings if finding.fix is not None)
    safe, unsafe = by_safety[Safety.SAFE], by_safety[Safety.UNSAFE]
    if safe or unsafe:
        parts = [f"{safe} can be fixed safely: mpslint fix"] if safe else []
        parts += [f"{unsafe} {'more ' if safe else ''}with --unsafe, which changes the run"] if unsafe else []
        out.line("; ".join(parts))


def print_statistics(out: Terminal, results: Sequence[FileResult]) -> None:
    """Print how often each rule was found, most first."""
    rows = Counter((finding.rule, finding.name, finding.severity) for result in results for finding in result.findings)
    for (rule, name, severity), count in sorted(rows.items(), key=lambda row: (-row[1], row[0][0])):
        out.line(f"{count:>6}  ", (severity.value.ljust(8), COLOURS[severity]), (rule, "bold"), f" {name}")


def print_problems(results: Sequence[FileResult]) -> None:
    """Print, on standard error, one line for each file that could not be read."""
    err = terminal(sys.stderr)
    for result in results:
        if result.problem:
            err.line(("mpslint: ", "bold"), result.problem)
    sys.stderr.flush()


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
