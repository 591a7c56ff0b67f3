"""What `mpslint verify` does with its options: reads the specs, has the runs done, prints and writes the reports."""

from __future__ import annotations

import dataclasses
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from mpslint.verify.estimate import estimate_spec
from mpslint.verify.export import as_csv, as_json
from mpslint.verify.job import Backend
from mpslint.verify.matrix import run_matrix
from mpslint.verify.page import as_page
from mpslint.verify.process import Limits
from mpslint.verify.progress import Live
from mpslint.verify.report import Report
from mpslint.verify.script import ScriptOptions, verify_script
from mpslint.verify.spec import Machine, Pair, read_pair
from mpslint.verify.text import estimate_table, print_report
from mpslint.verify.verify import Options, verify_specs

SCRIPT_STEPS, SPEC_STEPS = 20, 200


@dataclass(frozen=True, slots=True)
class Request:
    """The options of the command line, as they were given."""

    specs: tuple[Path, ...] = ()
    script: Path | None = None
    arguments: tuple[str, ...] = ()
    backend: Literal["auto"] | Backend = "auto"
    steps: int | None = None
    memory: int | None = None
    torch_version: str | None = None
    shape: str = "text"
    html: Path | None = None
    table: Path | None = None
    matrix: bool = False
    estimate: bool = False
    strict: bool = False
    yes: bool = False
    no_cache: bool = False
    timeout: float = 600.0
    memory_limit: float = 8.0

    def machine(self, known: Machine) -> Machine:
        """Return the Mac that the verdict is about: what a spec says of it, and what the command line says instead."""
        given: dict[str, Any] = {}
        if self.memory is not None:
            given["memory_gb"] = self.memory
        if self.torch_version is not None:
            given["torch"] = self.torch_version
        return dataclasses.replace(known, **given, origin="command line") if given else known

    def options(self, known: Machine) -> Options:
        """Return how the runs of a spec are done."""
        is_mac = platform.system() == "Darwin"
        backend: Backend = ("mps" if is_mac else "emulated") if self.backend == "auto" else self.backend
        limits = Limits(self.timeout, int(self.memory_limit * 2**30))
        return Options(
            self.machine(known),
            backend,
            falls_back=self.backend == "auto",
            steps=self.steps or SPEC_STEPS,
            limits=limits,
            use_cache=not self.no_cache,
        )


def carry_out(request: Request) -> int:
    """Do what the command line asks for; return the exit code: the worst of all reports."""
    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    if request.estimate:
        for path in request.specs:
            pair = read_pair(path)
            for spec in filter(None, (pair.before, pair.after)):
                console.print(estimate_table(estimate_spec(spec, request.machine(pair.machine), use_cache=not request.no_cache)))
        return 0
    codes = []
    for report in _reports(request):
        if request.shape == "json":
            sys.stdout.write(as_json(report))
        elif request.shape == "csv":
            sys.stdout.write(as_csv(report))
        else:
            print_report(report, console)
        _write(report, request)
        codes.append(report.exit_code(strict=request.strict))
    return max(codes, key=lambda code: (code == 1, code), default=3)


def _reports(request: Request) -> list[Report]:
    found = []
    with Live(sys.stderr) as live:
        for path in request.specs:
            pair = read_pair(path)
            found.append(_spec_report(pair, path, request, live))
        if request.script is not None:
            options = ScriptOptions(
                request.machine(Machine()),
                request.backend,
                request.steps or SCRIPT_STEPS,
                request.arguments,
                Limits(request.timeout, int(request.memory_limit * 2**30)),
            )
            found.append(verify_script(request.script, options, live.progress))
    return found


def _spec_report(pair: Pair, path: Path, request: Request, live: Live) -> Report:
    options = request.options(pair.machine)
    if request.matrix:
        report = run_matrix(pair.before, options, live.progress)
    else:
        report = verify_specs(pair.before, pair.after, options, live.progress)
    return dataclasses.replace(report, subject=str(path))


def _write(report: Report, request: Request) -> None:
    if request.html is not None:
        request.html.write_text(as_page(report), encoding="utf-8")
    if request.table is not None:
        request.table.write_text(as_csv(report), encoding="utf-8")
