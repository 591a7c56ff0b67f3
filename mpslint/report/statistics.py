"""`--statistics`: how often each rule was found, in every format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

from mpslint.core.grouped import grouped
from mpslint.core.record import record
from mpslint.report.finding import COLOURS
from mpslint.report.records import CheckReport
from mpslint.report.terminal import Terminal
from mpslint.report.text import counted
from mpslint.session.view import FileView


@record(frozen=True)
class Row:
    """One rule at one severity: how often it was found, and in how many files."""

    rule: str
    name: str
    severity: str
    count: int
    files: int
    fixable_safe: int


def rows_of(files: Sequence[FileView]) -> list[Row]:
    """Return a row for each rule and severity that was found, most frequent first."""
    found = grouped(((one.rule, one.name, one.severity), (file.path, one)) for file in files for one in file.findings)
    rows = [
        Row(*key, len(pairs), len({path for path, _ in pairs}), sum(f.safety == "safe" for _, f in pairs)) for key, pairs in found.items()
    ]
    return sorted(rows, key=lambda row: (-row.count, row.rule, row.severity))


def print_statistics(out: Terminal, files: Sequence[FileView]) -> None:
    """Print a line for each rule and severity."""
    for row in rows_of(files):
        out.line(f"{row.count:>6}  ", (row.severity.ljust(8), COLOURS[row.severity]), (row.rule, "bold"), f" {row.name}")


def statistics_text(name: str, report: CheckReport) -> str:
    """Return the statistics in a format: a list of rows in JSON, a table in Markdown, elsewhere one entry a rule at its first place."""
    rows = rows_of(report.files)
    if name == "json":
        return json.dumps([asdict(row) for row in rows], indent=1, ensure_ascii=False) + "\n"
    if name == "text":
        return "".join(f"{row.count:>6}  {row.severity.ljust(8)}{row.rule} {row.name}\n" for row in rows)
    if name == "markdown":
        head = "| findings | files | severity | rule |\n| ---: | ---: | --- | --- |\n"
        return head + "".join(f"| {row.count} | {row.files} | {row.severity} | {row.rule} {row.name} |\n" for row in rows)
    from mpslint.report.formats import render

    return render(name, replace(report, files=_once_a_rule(report.files, rows)))


def _once_a_rule(files: Sequence[FileView], rows: Sequence[Row]) -> list[FileView]:
    """Return the files with the first finding of each rule and severity only, whose message says how many there are."""
    left = {(row.rule, row.name, row.severity): row for row in rows}
    kept = []
    for file in files:
        findings = []
        for finding in file.findings:
            row = left.pop((finding.rule, finding.name, finding.severity), None)
            if row is not None:
                times = f"{counted(row.count, 'finding')} in {counted(row.files, 'file')}. First: "
                findings.append(replace(finding, message=times + finding.message))
        kept.append(replace(file, findings=tuple(findings)))
    return kept
