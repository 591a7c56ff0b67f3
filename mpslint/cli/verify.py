"""`mpslint verify`: short runs of a training that confirm it, with or without a Mac."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from mpslint.cli import EXIT_UNREADABLE
from mpslint.finding import UsageError


@click.command(context_settings={"ignore_unknown_options": False})
@click.option(
    "--spec",
    "specs",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="A run as JSON.",
)
@click.option(
    "--script",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Run this script or notebook itself, shortened.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--backend", type=click.Choice(["auto", "emulated", "cpu", "mps", "cuda"]), default="auto", show_default=True)
@click.option("--steps", type=click.IntRange(1, 100_000), help="Optimizer steps to run (200 from a spec, 20 of a script).")
@click.option("--memory", type=click.IntRange(1, 4096), help="Memory of the Mac in GB.")
@click.option("--torch", "torch_version", help="torch on the Mac, such as 2.13.")
@click.option("--format", "shape", type=click.Choice(["text", "json", "csv"]), default="text", show_default=True)
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Also write a page with the curves.")
@click.option("--csv", "table", type=click.Path(dir_okay=False, path_type=Path), help="Also write the steps as CSV.")
@click.option("--matrix", is_flag=True, help="Run the ladder of experiments that finds the cause of growth.")
@click.option("--estimate", is_flag=True, help="Only say what memory the run needs, and which batch fits each Mac.")
@click.option("--strict", is_flag=True, help="Exit 1 when the verdict is inconclusive.")
@click.option("--yes", is_flag=True, help="Run the script without asking.")
@click.option("--no-cache", is_flag=True, help="Work everything out again.")
@click.option("--timeout", type=click.FloatRange(min=1), default=600.0, show_default=True, help="Seconds for each run.")
@click.option("--memory-limit", type=click.FloatRange(min=0.1), default=8.0, show_default=True, help="GB that a run may use here.")
def command(**options: object) -> None:
    """Train a few steps as written and as rewritten, and give a verdict.

    \b
    Exit codes: 0 pass (or inconclusive), 1 fail, 2 usage, 3 not run.
    """
    from mpslint.verify.work import has_torch

    if not options["specs"] and not options["script"]:
        raise UsageError("say what to verify: --spec FILE.json, or --script FILE [-- ARGUMENTS]")
    if options["arguments"] and not options["script"]:
        raise UsageError("arguments after -- belong to a script: mpslint verify --script FILE -- ARGUMENTS")
    if not has_torch():
        click.echo("mpslint: verify needs torch and transformers: pip install 'mpslint[verify]'", err=True)
        sys.exit(EXIT_UNREADABLE)
    if options["script"] and not options["yes"]:
        _ask(Path(str(options["script"])))
    from mpslint.verify.command import Request, carry_out

    sys.exit(carry_out(Request(**options)))  # type: ignore[arg-type]


def _ask(script: Path) -> None:
    """Ask before foreign code is run; where nobody can answer, say how to allow it."""
    if not sys.stdin.isatty():
        raise UsageError(f"{script} would be run, on a copy and shortened; pass --yes to allow it")
    click.confirm(f"Run a shortened copy of {script} in a process of its own?", abort=True)
