"""`mpslint verify`: short runs of a training that confirm it, with or without a Mac."""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mpslint.cli._options import WithWords, file_options, options_of, words_of
from mpslint.cli._say import EXIT_UNREADABLE, complain
from mpslint.core.finding import ReadError, UsageError
from mpslint.source.files import STANDARD_INPUT

if TYPE_CHECKING:
    from mpslint.verify.report import VerifyReport
    from mpslint.verify.start import AskedFiles

SCRIPT_STEPS = 20
_NEW_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(cls=WithWords, short_help="Run a few training steps as written and as rewritten.")
@file_options
@click.option("--all", "folders", type=click.Path(exists=True, file_okay=False), multiple=True, help="Every training run below a folder.")
@click.option("--yes", is_flag=True, help="Run the files' own code without asking.")
@click.option("--plan", "is_planned", is_flag=True, help="Run none of the files' code: a preview by the settings that were read.")
@click.option("--run", type=click.IntRange(1), help="With --plan: which run of the file, as `mpslint plan` lists them.")
@click.option("--unsafe", is_flag=True, help="Rewrite also what changes the run.")
@click.option("--backend", type=click.Choice(["auto", "emulated", "cpu", "mps", "cuda"]), default="auto", show_default=True)
@click.option("--steps", type=click.IntRange(1, 100_000), help="Optimizer steps: 20 of own code, 200 of a plan.")
@click.option("--format", "shape", type=click.Choice(["text", "json", "csv"]), default="text", show_default=True, help="How to report.")
@click.option("--html", type=_NEW_FILE, help="Also write a page with the curves.")
@click.option("--csv", "table", type=_NEW_FILE, help="Also write the steps as CSV.")
@click.option("--strict", is_flag=True, help="Exit 1 when the verdict is inconclusive.")
@click.option("--allow-read", type=click.Path(exists=True, path_type=Path), multiple=True, help="Let the code read this. Repeatable.")
@click.option("--pass-env", metavar="NAME", multiple=True, help="Pass this environment variable to the code. Repeatable.")
@click.option("--no-cache", is_flag=True, help="Work everything out again.")
@click.option("--timeout", type=click.FloatRange(min=1), default=600.0, show_default=True, help="Seconds for each run.")
@click.option("--memory-limit", type=click.FloatRange(min=0.1), default=8.0, show_default=True, help="GiB that a run may use here.")
def command(**values: Any) -> None:
    """Run a file's own code for a few steps, as written and as rewritten, and give a verdict.

    FILE is a script or notebook, or a launch script or Makefile that starts one. A copy of it runs, cut short and confined, after you have
    allowed it once. Without an Apple GPU the steps are emulated: every operator and tensor of the training, at full size, without its
    values. The file itself is never changed.

    \b
    Examples:
      mpslint verify train.ipynb
      mpslint verify train.py --yes -- --data small.csv
      mpslint verify launch.sh --memory 16GB --html report.html
      mpslint verify --all samples/ --yes
      mpslint verify train.ipynb --plan

    \b
    Exit codes: 0 pass (or inconclusive), 1 fail, also when only the rewrite passes, 2 usage, 3 not run.
    """
    words = words_of(values)
    named = (*values["paths"], *values["folders"])
    if not named:
        raise UsageError("say what to verify: FILE... [-- ARGUMENTS], or --all FOLDER")
    runs_code = not values["is_planned"]
    if runs_code:
        _refuse(named, values)
    from mpslint.verify import work

    if not work.has_torch():
        complain("mpslint: verify needs torch, transformers and psutil: pip install 'mpslint[verify]'")
        sys.exit(EXIT_UNREADABLE)
    if runs_code and not _may_run(named, allowed=values["yes"]):
        raise UsageError("nothing was run; --plan gives a preview that runs none of the code")
    from mpslint.verify.start import AskedFiles

    session = options_of({**values, "paths": named})
    asked = AskedFiles(named, dataclasses.replace(session, started=words), values["run"], values["unsafe"])
    sys.exit(_carry_out(asked, values))


def _carry_out(asked: AskedFiles, values: dict[str, Any]) -> int:
    """Have the runs done, print and write the reports; return the exit code: the worst of all reports."""
    from mpslint.report.console import console
    from mpslint.source.writer import write_whole
    from mpslint.verify.last import keep
    from mpslint.verify.page import as_page
    from mpslint.verify.report import as_csv, as_json
    from mpslint.verify.text import print_report

    reports = []
    for report in _reports(asked, values):
        if values["shape"] == "text":
            print_report(report, console())
        reports.append(report)
    if values["shape"] != "text":
        sys.stdout.write((as_json if values["shape"] == "json" else as_csv)(reports))
    if not reports:
        raise ReadError(f"{' '.join(asked.paths)}: no training run that mpslint can read")
    keep(reports)
    for path, written in ((values["html"], as_page), (values["table"], as_csv)):
        if path is not None:
            write_whole(str(path), written(reports).encode())
    return max((report.exit_code(strict=values["strict"]) for report in reports), key=lambda code: (code == 1, code))


def _reports(asked: AskedFiles, values: dict[str, Any]) -> Iterator[VerifyReport]:
    """Yield a report for each file, as it is ready."""
    from mpslint.verify.files import told, verify_file
    from mpslint.verify.job import HORIZON
    from mpslint.verify.own_code import verify_code
    from mpslint.verify.process import ChildLimits
    from mpslint.verify.progress import Live
    from mpslint.verify.report import VerifyReport
    from mpslint.verify.script import ScriptOptions
    from mpslint.verify.start import files

    is_planned, steps = values["is_planned"], values["steps"]
    options = ScriptOptions(
        backend=values["backend"],
        steps=steps or SCRIPT_STEPS,
        horizon=(steps if is_planned else None) or HORIZON,
        limits=ChildLimits(values["timeout"], int(values["memory_limit"] * 2**30)),
        readable=tuple(path.absolute() for path in values["allow_read"]),
        passed=values["pass_env"],
        use_cache=not values["no_cache"],
    )
    for found in files(asked):
        start = time.monotonic()
        with Live(sys.stderr, found.path) as live:
            try:
                report = (verify_file if is_planned else verify_code)(found, asked, options, live.progress)
            except ReadError as error:
                report = VerifyReport(found.path, options.machine, problem=told(error, found.path))
        yield dataclasses.replace(report, seconds=time.monotonic() - start)


def _refuse(named: Sequence[str], values: dict[str, Any]) -> None:
    """Raise UsageError, before anything is loaded, for what own code can't be asked, and where nobody can be asked whether it may run."""
    if STANDARD_INPUT in named:
        raise UsageError("the code of standard input can't be run: name a file")
    if values["run"]:
        raise UsageError("--run is about the plan of a file: add --plan")
    if not values["yes"] and not sys.stdin.isatty():
        them = named[0] if len(named) == 1 else f"{len(named)} files"
        raise UsageError(f"verify runs a copy of {them}, confined and cut short: allow it with --yes, or add --plan, which runs none of it")


def _may_run(named: Sequence[str], *, allowed: bool) -> bool:
    """Return whether foreign code may be run, and say first how far it is confined."""
    from mpslint.verify.confinement.choice import confinement, unconfined
    from mpslint.verify.confinement.probe import ALL, IN_WORDS

    chosen = confinement()
    open_ways = ", ".join(IN_WORDS[gap] for gap in chosen.gaps)
    if chosen.gaps == ALL:
        said = f"this machine cannot confine the code: {unconfined()}. It can {open_ways}."
    elif chosen.gaps:
        said = f"the code is confined only in part, by {chosen.name}. It can {open_ways}."
    else:
        said = f"the code is confined by {chosen.name}: no network, no writes outside its copy, no access to your other files."
    if allowed:
        if chosen.gaps:
            complain(f"mpslint: {said}")
        return True
    return click.confirm(f"{said[0].upper()}{said[1:]}\nRun a shortened copy of {', '.join(named)} in a process of its own?", err=True)
