"""`mpslint verify`: short runs of a training that confirm it, with or without a Mac."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from mpslint.cli import EXIT_UNREADABLE
from mpslint.cli._options import file_options, options_of
from mpslint.finding import UsageError

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_NEW_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(short_help="Train a few steps as written and as rewritten.")
@file_options
@click.option("--all", "folders", type=click.Path(exists=True, file_okay=False), multiple=True, help="Every training run below a folder.")
@click.option("--plan", type=click.IntRange(1), help="Which run of the file, as `mpslint plan` lists them.")
@click.option("--unsafe", is_flag=True, help="Rewrite also what changes the run.")
@click.option("--script", type=_FILE, help="Run this script or notebook itself, shortened; what follows -- are its arguments.")
@click.option("--spec", "specs", type=_FILE, multiple=True, help="A run written as JSON.")
@click.option("--backend", type=click.Choice(["auto", "emulated", "cpu", "mps", "cuda"]), default="auto", show_default=True)
@click.option("--steps", type=click.IntRange(1, 100_000), help="Optimizer steps: 200 of a plan, 20 of a script.")
@click.option("--matrix", is_flag=True, help="Run the ladder of experiments that finds the cause of growth.")
@click.option("--format", "shape", type=click.Choice(["text", "json", "csv"]), default="text", show_default=True, help="How to report.")
@click.option("--html", type=_NEW_FILE, help="Also write a page with the curves.")
@click.option("--csv", "table", type=_NEW_FILE, help="Also write the steps as CSV.")
@click.option("--strict", is_flag=True, help="Exit 1 when the verdict is inconclusive.")
@click.option("--yes", is_flag=True, help="Run the script without asking.")
@click.option("--no-cache", is_flag=True, help="Work everything out again.")
@click.option("--timeout", type=click.FloatRange(min=1), default=600.0, show_default=True, help="Seconds for each run.")
@click.option("--memory-limit", type=click.FloatRange(min=0.1), default=8.0, show_default=True, help="GB that a run may use here.")
def command(**values: Any) -> None:
    """Train a few steps as written and as rewritten, and give a verdict.

    Without an Apple GPU the steps are emulated: every operator and tensor of the training, at full size, without its values. The file
    itself is never changed.

    \b
    Examples:
      mpslint verify train.ipynb
      mpslint verify train.ipynb --memory 16GB --html report.html
      mpslint verify --all samples/
      mpslint verify --script train.py -- --data small.csv

    \b
    Exit codes: 0 pass (or inconclusive), 1 fail, also when only the rewrite passes, 2 usage, 3 not run.
    """
    from mpslint.verify import work

    arguments = values["paths"]
    if values["script"]:
        values["paths"] = ()
    if not (values["paths"] or values["folders"] or values["specs"] or values["script"]):
        raise UsageError("say what to verify: FILE..., --all FOLDER, or --script FILE [-- ARGUMENTS]")
    if not work.has_torch():
        click.echo("mpslint: verify needs torch and transformers: pip install 'mpslint[verify]'", err=True)
        sys.exit(EXIT_UNREADABLE)
    if values["script"] and not values["yes"]:
        _ask(values["script"])
    from mpslint.report.console import console
    from mpslint.verify.command import Request, carry_out
    from mpslint.verify.files import Asked

    paths = (*values["paths"], *values["folders"])
    session = options_of({**values, "paths": paths or (str(values["script"] or values["specs"][0]),)})
    asked = Asked(paths, session, values["plan"], values["unsafe"], values["matrix"])
    names = ("specs", "script", "backend", "steps", "shape", "html", "table", "strict", "no_cache", "timeout", "memory_limit")
    request = Request(asked, arguments=arguments if values["script"] else (), **{name: values[name] for name in names})
    sys.exit(carry_out(request, console()))


def _ask(script: Path) -> None:
    """Ask before foreign code is run; where nobody can answer, say how to allow it."""
    if not sys.stdin.isatty():
        raise UsageError(f"{script} would be run, on a copy and shortened; pass --yes to allow it")
    click.confirm(f"Run a shortened copy of {script} in a process of its own?", abort=True)
