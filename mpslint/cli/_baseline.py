"""`--baseline` and `--write-baseline`: leave known findings out, and write them down."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from mpslint.cli._output import encoded
from mpslint.cli._say import complain, say
from mpslint.report.records import CheckReport
from mpslint.report.text import counted, print_problems
from mpslint.session.baseline import baseline_text, compare, load_baseline
from mpslint.session.session import Options
from mpslint.source.writer import write_whole


def write(path: Path, report: CheckReport) -> None:
    """Write every finding of a report into a baseline file."""
    write_whole(str(path), encoded(baseline_text(path, report.files)))
    number = sum(len(file.findings) for file in report.files)
    touched = sum(1 for file in report.files if file.findings)
    say(f"Wrote {counted(number, 'finding')} in {counted(touched, 'file')} to {path}.")
    print_problems(report.files)


def without_known(path: Path, report: CheckReport, options: Options) -> CheckReport:
    """Return a report without the findings that a baseline holds, and say, on standard error, what the baseline did."""
    compared = compare(path, load_baseline(path), report.files, options)
    if compared.known:
        complain(f"{counted(compared.known, 'finding')} left out: in the baseline {path}")
    if compared.gone:
        per_file = Counter(entry.path for entry in compared.gone)
        named = ", ".join(f"{name} ({number})" for name, number in sorted(per_file.items())[:5])
        more = ", ..." if len(per_file) > 5 else ""
        number = len(compared.gone)
        entries = "1 entry of the baseline no longer occurs" if number == 1 else f"{number} entries of the baseline no longer occur"
        complain(f"{entries}: {named}{more}; --write-baseline {path} writes it anew")
    return replace(report, files=compared.files)
