"""What was read in the file, for the page: the run, what was assumed of it, what check finds, and what fix rewrites."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mpslint.core.finding import Severity
from mpslint.core.inert import html_text
from mpslint.session.view import ShownFinding
from mpslint.verify.figure import scrolled
from mpslint.verify.reading import FileReading, remedy, where

DIFF_CLASSES = {"+": "added", "-": "removed", "@": "dim"}


def badge(status: str) -> str:
    """Return a status as a coloured word."""
    return f'<span class="badge {status.replace(" ", "-")}">{html_text(status)}</span>'


def reading_sections(reading: FileReading) -> Iterator[str]:
    """Yield the sections on findings, on the rewrite, and on what the run is taken to be."""
    if reading.findings:
        yield f'<h2>What check finds in the file</h2><ul class="checks">{_findings(reading.findings)}</ul>'
    if reading.diff:
        yield f"<h2>What fix rewrites</h2>{''.join(_diff(name, lines) for name, lines in reading.diff)}"
    if reading.rewrites:
        yield f"<ul>{''.join(f'<li>{html_text(line)}</li>' for line in reading.rewrites)}</ul>"
    if reading.left and reading.diff:
        yield f'<h2>Still found in the rewrite</h2><ul class="checks">{_findings(reading.left)}</ul>'
    rows = [("Run", reading.run), ("For", reading.target), *(("Assumed", line) for line in reading.assumptions)]
    rows += [("Fits", reading.fits)] if reading.fits else []
    cells = "".join(f"<tr><th>{html_text(name)}</th><td>{html_text(text)}</td></tr>" for name, text in rows)
    yield f"<h2>The run</h2>{scrolled(cells, 'the run')}"


def _findings(found: Sequence[ShownFinding]) -> str:
    """Return what was found, by place, and last what is only worth knowing."""
    return "".join(_finding(one) for one in sorted(found, key=lambda one: one.severity == Severity.NOTE.value))


def _finding(one: ShownFinding) -> str:
    fix = f' <span class="dim">{html_text(remedy(one))}</span>' if one.safety else ""
    head = f"<strong>{html_text(one.rule)} {html_text(one.name)}</strong>, {html_text(where(one.place))}"
    return f"<li>{badge(one.severity)} {head}: {html_text(one.message)}{fix}</li>"


def _diff(name: str, lines: tuple[str, ...]) -> str:
    rows = "".join(f'<span class="{DIFF_CLASSES.get(line[:1], "same")}">{html_text(line)}</span>\n' for line in lines)
    return f'<h3>{html_text(name)}</h3><pre tabindex="0">{rows}</pre>'
