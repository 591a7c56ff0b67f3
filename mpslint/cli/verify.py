"""`mpslint verify`: short runs of a training that confirm it, with or without a Mac."""

from __future__ import annotations

import dataclasses
import functools
import sys
from pathlib import Path
from typing import Any

import click

from mpslint.cli._options import WithWords, file_options, options_of, words_of
from mpslint.cli._say import EXIT_UNREADABLE, complain
from mpslint.core.finding import UsageError

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_NEW_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(cls=WithWords, short_help="Train a few steps as written and as rewritten.")
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
@click.option("--yes", is_flag=True, help="Run the file's code without asking.")
@click.option("--allow-read", type=click.Path(exists=True, path_type=Path), multiple=True, help="Let the script read this. Repeatable.")
@click.option("--pass-env", metavar="NAME", multiple=True, help="Pass this environment variable to the script. Repeatable.")
@click.option("--no-cache", is_flag=True, help="Work everything out again.")
@click.option("--timeout", type=click.FloatRange(min=1), default=600.0, show_default=True, help="Seconds for each run.")
@click.option("--memory-limit", type=click.FloatRange(min=0.1), default=8.0, show_default=True, help="GiB that a run may use here.")
def command(**values: Any) -> None:
    """Train a few steps as written and as rewritten, and give a verdict.

    Without an Apple GPU the steps are emulated: every operator and tensor of the training, at full size, without its values. The file
    itself is never changed.

    \b
    Examples:
      mpslint verify train.ipynb
      mpslint verify train.ipynb --memory 16GB --html report.html
      mpslint verify launch.sh
      mpslint verify train.py -- --batch_size 4
      mpslint verify --all samples/
      mpslint verify --script train.py -- --data small.csv

    \b
    Exit codes: 0 pass (or inconclusive), 1 fail, also when only the rewrite passes, 2 usage, 3 not run.
    """
    from mpslint.verify import work

    words = words_of(values)
    arguments = (*values["paths"], *words)
    if values["script"]:
        values["paths"] = ()
    if not (values["paths"] or values["folders"] or values["specs"] or values["script"]):
        raise UsageError("say what to verify: FILE..., --all FOLDER, or --script FILE [-- ARGUMENTS]")
    if not work.has_torch():
        complain("mpslint: verify needs torch and transformers: pip install 'mpslint[verify]'")
        sys.exit(EXIT_UNREADABLE)
    if values["script"] and not _may_run(str(values["script"]), allowed=values["yes"]):
        raise UsageError(f"{values['script']} would be run, on a copy and shortened; pass --yes to allow it")
    from mpslint.report.console import console
    from mpslint.verify.command import Request, carry_out
    from mpslint.verify.files import AskedFiles

    paths = (*values["paths"], *values["folders"])
    session = options_of({**values, "paths": paths or (str(values["script"] or values["specs"][0]),)})
    session = dataclasses.replace(session, started=() if values["script"] else words)
    asked = AskedFiles(paths, session, values["plan"], values["unsafe"], values["matrix"])
    names = ("specs", "script", "backend", "steps", "shape", "html", "table", "strict", "no_cache", "timeout", "memory_limit")
    more = ("allow_read", "pass_env")
    may_run = functools.partial(_may_run, allowed=values["yes"])
    request = Request(
        asked, may_run=may_run, arguments=arguments if values["script"] else (), **{name: values[name] for name in names + more}
    )
    sys.exit(carry_out(request, console()))


def _may_run(script: str, *, allowed: bool) -> bool:
    """Return whether foreign code may be run, and say first how far it is confined; where nobody can answer, it may not."""
    if not allowed and not sys.stdin.isatty():
        return False
    from mpslint.verify.confinement.choice import confinement, unconfined
    from mpslint.verify.confinement.probe import ALL, IN_WORDS

    chosen = confinement()
    open_ways = ", ".join(IN_WORDS[gap] for gap in chosen.gaps)
    if chosen.gaps == ALL:
        complain(f"mpslint: this machine cannot confine the script: {unconfined()}. It can {open_ways}.")
    elif chosen.gaps:
        complain(f"mpslint: {chosen.name} confines the script only in part. It can {open_ways}.")
    elif not allowed:
        complain(f"{chosen.name} confines the script: no network, no writes outside its copy, no access to your other files.")
    return allowed or click.confirm(f"Run a shortened copy of {script} in a process of its own?", err=True)
