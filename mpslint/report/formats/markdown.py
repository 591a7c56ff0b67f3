"""Markdown for a comment on a pull request: a table of the findings, the reasons folded away."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from mpslint.core.inert import inert
from mpslint.report.records import LEVELS, CheckReport, Record, cell_words, notices, path_from, records
from mpslint.report.text import counted
from mpslint.session.view import ShownFinding, said_once
from mpslint.source.document import Place

MARK = "<!-- mpslint -->"
"""The first line, by which a workflow finds its own comment again."""
LONGEST = 60_000
"""Characters; GitHub takes 65,536."""
_CODE = re.compile(r"(`[^`]*`)")


def render(report: CheckReport) -> str:
    """Return the report, cut where a comment could not hold it."""
    found, unread = list(records(report)), list(notices(report))
    lines = [MARK, f"### mpslint: {_headline(report, found)}", ""]
    if found:
        lines += _table(list(_causes(report)))
    if unread:
        notes = [f"- {_where(one.path, one.place)}: {_text(one.message)}" for one in unread]
        lines += ["**Not checked**", "", *_fitting(notes, LONGEST // 4), ""]
    return "\n".join(lines).rstrip() + "\n"


def _headline(report: CheckReport, found: list[Record]) -> str:
    read = sum(1 for file in report.files if not file.problem)
    unjudged = sum(1 for file in report.files if file.unjudged)
    if not found:
        left = f"{counted(unjudged, 'file')} not judged"
        if 0 < read == unjudged:
            return left
        return f"nothing wrong for MPS in {counted(read - unjudged, 'file')}" + (f"; {left}" if unjudged else "")
    causes = list(_causes(report))
    severities = Counter(finding.severity for _, finding, _ in causes)
    counts = ", ".join(counted(severities[level], level) for level in LEVELS if severities[level])
    touched = len({record.path for record in found})
    places = f" at {len(found)} places" if len(found) > len(causes) else ""
    return f"{counts}{places} in {counted(touched, 'file')}" + (f" of {read}" if read > touched else "")


def _causes(report: CheckReport) -> Iterator[tuple[str, ShownFinding, int]]:
    """Yield each path, what is found there, and at how many more places the very same is found."""
    for file in report.files:
        for finding, others in said_once(file.findings):
            yield path_from(report.root, file.path), finding, len(others)


def _table(causes: list[tuple[str, ShownFinding, int]]) -> list[str]:
    worst_first = sorted(causes, key=lambda cause: cause[1].order)
    rows = [_row(path, finding, more) for path, finding, more in worst_first]
    whys = {finding.rule: finding for _, finding, _ in worst_first if finding.why}
    reasons = [f"- **{rule}** {finding.name}: {_text(finding.why)}" for rule, finding in sorted(whys.items())]
    head = ["| | where | rule | what happens on a Mac | fix |", "| --- | --- | --- | --- | --- |"]
    lines = [*head, *_fitting(rows, LONGEST // 2), ""]
    if reasons:
        lines += ["<details><summary>Why</summary>", "", *_fitting(reasons, LONGEST // 4), "", "</details>", ""]
    return lines


def _fitting(lines: list[str], room: int) -> list[str]:
    """Return as many lines as there is room for, and how many are left out."""
    kept: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            return [*kept, "", f"... and {len(lines) - len(kept)} more."]
        kept.append(line)
    return kept


def _row(path: str, finding: ShownFinding, more: int) -> str:
    where = _where(path, finding.place) + (f" and {counted(more, 'more place')}" if more else "")
    cells = (finding.severity, where, f"{finding.rule} {finding.name}", _text(finding.message), _fix(finding))
    return f"| {' | '.join(cells)} |"


def _where(path: str, place: Place) -> str:
    words = cell_words(place)
    return f"{_code(path)} {words}" if words else _code(f"{path}:{place.line}")


def _fix(finding: ShownFinding) -> str:
    if not finding.safety:
        return ""
    return f"by hand: {_text(finding.fix)}" if finding.safety == "manual" else f"{_code(finding.fix)} ({finding.safety})"


def _code(text: str) -> str:
    plain = inert(" ".join(text.split())).replace("|", "\\|")
    fence = "``" if "`" in plain else "`"
    return f"{fence} {plain} {fence}" if "`" in plain else f"{fence}{plain}{fence}"


def _text(text: str) -> str:
    """Return prose with what Markdown would take for markup escaped outside code, and no mention of anybody."""
    pieces = _CODE.split(inert(" ".join(text.split())))
    for index in range(0, len(pieces), 2):
        plain = re.sub(r"([\\*_\[\]~])", r"\\\1", pieces[index]).replace("&", "&amp;").replace("<", "&lt;")
        pieces[index] = plain.replace("@", "@\u200b").replace("`", "\\`")
    return "".join(pieces).replace("|", "\\|")
