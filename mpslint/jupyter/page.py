"""What a notebook shows: one display with the findings by cell, or a diff, as HTML and as plain text."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from html import escape

from mpslint.core.links import rule_url
from mpslint.core.record import record
from mpslint.jupyter.cells import Ran
from mpslint.report.text import counted
from mpslint.session.view import FileView, ShownFinding, said_once

COLOURS = {"error": "#d1242f", "warning": "#9a6700", "note": "#0969da"}
_STYLE = "font-family:var(--jp-ui-font-family,sans-serif);font-size:13px;line-height:1.5"
_CODE = "margin:2px 0 2px 12px;padding:2px 6px;background:rgba(128,128,128,.12);white-space:pre-wrap"


@record(frozen=True)
class Shown:
    """The same, for frontends that show HTML and for those that do not."""

    html: str
    text: str


def findings_page(file: FileView, cells: Sequence[Ran]) -> Shown:
    """Return the findings of the cells, the worst first, each with a link to its cell."""
    said = said_once(file.findings)
    summary = _summary(file, [finding for finding, _ in said])
    rows = "".join(_row(finding, len(others), cells) for finding, others in said)
    is_fixable = any(finding.safety == "safe" for finding in file.findings)
    hint = "<div>Fix: <code>%mpslint fix</code></div>" if is_fixable else ""
    lines = [f"{_where(f, cells)}: {f.severity} {f.rule} {f.message}{_fix_words(f)}" for f, _ in said]
    unread = [f"cell {place.cell}, line {place.line}: not read: {reason}" for place, reason in file.unread]
    unread += [f"cell {place.cell}, line {place.line}: not judged: {reason}" for place, reason in file.unjudged]
    more = "".join(f"<div>{escape(line)}</div>" for line in unread)
    text = "\n".join([*lines, *unread, summary, *(["Fix: %mpslint fix"] if is_fixable else [])])
    return Shown(f'<div style="{_STYLE}"><b>{escape(summary)}</b>{rows}{more}{hint}</div>', text)


def _summary(file: FileView, said: Sequence[ShownFinding]) -> str:
    if file.problem:
        return file.problem
    counts = [counted(number, word) for word in COLOURS if (number := sum(f.severity == word for f in said))]
    hidden = f" Not shown: {counted(len(file.hidden), 'finding')} (--severity)." if file.hidden else ""
    if counts:
        return f"{', '.join(counts)}.{hidden}"
    return f"{'No findings in the cells that were read' if file.unread else 'Nothing wrong for MPS'}.{hidden}"


def _where(finding: ShownFinding, cells: Sequence[Ran]) -> str:
    """Return `In [5], line 2`, or a place in another file."""
    place = finding.place
    return place.shown if place.path else f"In [{cells[(place.cell or 1) - 1].count}], line {place.line}"


def _fix_words(finding: ShownFinding) -> str:
    return f" Fix ({finding.safety}): {finding.fix}" if finding.safety else ""


def _row(finding: ShownFinding, others: int, cells: Sequence[Ran]) -> str:
    cell = cells[(finding.place.cell or 1) - 1]
    where = escape(_where(finding, cells))
    place = f'<a href="#cell-id={escape(cell.id)}">{where}</a>' if cell.id else where
    url = rule_url(finding.rule)
    rule = f'<a href="{escape(url)}" target="_blank">{finding.rule}</a>' if url else finding.rule
    severity = f'<b style="color:{COLOURS[finding.severity]}">{finding.severity}</b>'
    more = f" (and at {counted(others, 'more place')})" if others else ""
    code = escape(finding.source.strip())
    fix = f"<div><i>{escape(_fix_words(finding).strip())}</i></div>" if finding.safety else ""
    head = f"{place}{more} {severity} {rule} {escape(finding.name)}"
    return f'<div style="margin-top:8px">{head}<div>{escape(finding.message)}</div><pre style="{_CODE}">{code}</pre>{fix}</div>'


def diff_page(before: str, after: str, title: str) -> Shown:
    """Return what changes in a cell."""
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), "", "", n=2, lineterm=""))[2:]
    colours = {"+": "rgba(46,160,67,.2)", "-": "rgba(248,81,73,.2)", "@": "transparent"}
    rows = "".join(f'<div style="background:{colours.get(line[:1], "transparent")}">{escape(line) or " "}</div>' for line in lines)
    html = f'<div style="{_STYLE}"><b>{escape(title)}</b><pre style="{_CODE}">{rows}</pre></div>'
    return Shown(html, "\n".join([title, *lines]))
