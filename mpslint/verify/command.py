"""What `mpslint verify` does with its options: reads files, has the runs done, prints and writes the reports."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rich.console import Console

from mpslint.core.finding import ReadError
from mpslint.source.writer import write_whole
from mpslint.verify.files import verify_file
from mpslint.verify.job import HORIZON, Backend
from mpslint.verify.last import keep
from mpslint.verify.own_code import verify_code
from mpslint.verify.page import as_page
from mpslint.verify.process import ChildLimits
from mpslint.verify.progress import Live
from mpslint.verify.report import VerifyReport, as_csv, as_json
from mpslint.verify.script import ScriptOptions
from mpslint.verify.start import AskedFiles, files
from mpslint.verify.text import print_report

SCRIPT_STEPS = 20


@dataclass(frozen=True, slots=True)
class Request:
    """The options of the command line, as they were given."""

    asked: AskedFiles = field(default_factory=AskedFiles)
    is_planned: bool = False
    """Whether none of the files' own code is run."""
    backend: Literal["auto"] | Backend = "auto"
    steps: int | None = None
    shape: str = "text"
    html: Path | None = None
    table: Path | None = None
    strict: bool = False
    no_cache: bool = False
    timeout: float = 600.0
    memory_limit: float = 8.0
    allow_read: tuple[Path, ...] = ()
    pass_env: tuple[str, ...] = ()

    def options(self) -> ScriptOptions:
        """Return how the code of a file, or what its plan says, is run."""
        return ScriptOptions(
            backend=self.backend,
            steps=self.steps or SCRIPT_STEPS,
            horizon=(self.steps if self.is_planned else None) or HORIZON,
            limits=ChildLimits(self.timeout, int(self.memory_limit * 2**30)),
            readable=tuple(path.absolute() for path in self.allow_read),
            passed=self.pass_env,
            use_cache=not self.no_cache,
        )


def carry_out(request: Request, console: Console) -> int:
    """Do what the command line asks for, with text to a console; return the exit code: the worst of all reports."""
    reports: list[VerifyReport] = []
    for report in _reports(request):
        if request.shape == "text":
            print_report(report, console)
        reports.append(report)
    if request.shape == "json":
        sys.stdout.write(as_json(reports))
    elif request.shape == "csv":
        sys.stdout.write(as_csv(reports))
    if not reports:
        raise ReadError(f"{' '.join(request.asked.paths)}: no training run that mpslint can read")
    keep(reports)
    if request.html is not None:
        write_whole(str(request.html), as_page(reports).encode())
    if request.table is not None:
        write_whole(str(request.table), as_csv(reports).encode())
    return max((report.exit_code(strict=request.strict) for report in reports), key=lambda code: (code == 1, code))


def _reports(request: Request) -> Iterator[VerifyReport]:
    """Yield a report for each file, as it is ready."""
    for found in files(request.asked):
        with Live(sys.stderr, found.path) as live:
            if request.is_planned:
                yield verify_file(found, request.asked, request.options(), live.progress)
            else:
                yield verify_code(found, request.asked, request.options(), live.progress)
