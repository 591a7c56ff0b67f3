"""`mpslint run`: the real run, whole and unchanged, watched."""

from __future__ import annotations

import functools
import itertools
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from mpslint.run.events import Observed


@click.command(
    name="run",
    short_help="Watch your own training run.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option(
    "--csv", "table", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write step, time and memory to FILE."
)
@click.option("--every", type=click.FloatRange(min=1), default=60.0, show_default=True, help="Seconds between status lines.")
@click.option("--quiet", "-q", is_flag=True, help="Print warnings and the diagnosis only.")
@click.option("--stop-before-swap", is_flag=True, help="End the run with Ctrl-C when more than 1 GiB goes into swap, so that it can save.")
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND...")
def command(table: Path | None, every: float, quiet: bool, stop_before_swap: bool, words: tuple[str, ...]) -> None:
    """Run COMMAND, whole and unchanged, and watch it: steps, memory, batch shapes, operators on the CPU, NaN, swap.

    COMMAND is a script with its arguments, -m MODULE, or a command such as accelerate launch. Its input, output, signals and exit code are
    its own; mpslint prints its lines to standard error. A warning is printed once, as early as the numbers allow, with the finding of
    `mpslint check` that explains it. When the run ends with an error, the diagnosis follows the traceback.

    \b
    Examples:
      mpslint run train.py --epochs 3
      mpslint run --csv memory.csv -m project.train
      mpslint run --stop-before-swap accelerate launch train.py --config base.yaml

    \b
    Exit codes: those of COMMAND; 2 when mpslint can't start it.
    """
    from mpslint.run.launch import run, script_of
    from mpslint.run.table import StepTable
    from mpslint.run.watcher import Watcher

    def say(text: str) -> None:
        if not quiet or text.startswith(("warning", "stopping", "steps aren't")):
            click.echo(f"mpslint: {text}", err=True)

    script = script_of(words)
    watcher = Watcher(say, functools.partial(_explanation, script), every)
    ended = run(words, watcher, stop_before_swap, StepTable(table).update)
    observed = ended.observed
    if observed.steps:
        say(watcher.summary(observed))
        if observed.device == "mps" and script is not None:
            _keep(observed, script)
    elif not observed.blind:
        say("no optimizer step was seen: nothing was trained, or torch.optim wasn't used")
    if ended.exit_code and observed.error:
        _diagnose(observed, script)
    sys.exit(ended.exit_code)


def _keep(observed: Observed, script: str) -> None:
    """Keep what a step of the script took on this Mac, for `plan --estimate`."""
    from mpslint.verify.calibrations import FILE, keep_run

    ends = [step.seconds for step in observed.steps]
    times = [later - earlier for earlier, later in itertools.pairwise(ends)]
    keep_run(FILE + str(Path(script).resolve()), observed.device, observed.torch, times)


def _explanation(script: str | None, verdict: str) -> str:
    """Return where check finds the cause of a memory curve in the script, as `; train.py:41 MPS301: ...`, or ''."""
    from mpslint.core.finding import MpslintError
    from mpslint.diagnose.catalogue import catalogue
    from mpslint.session.session import Options, check_file
    from mpslint.session.view import view
    from mpslint.source.files import find_files

    if script is None:
        return ""
    rules = catalogue().verdicts[verdict].rules
    try:
        file = view(check_file(next(iter(find_files([script]))), Options()))
    except (MpslintError, StopIteration):
        return ""
    found = sorted((one for one in file.findings if one.rule in rules), key=lambda one: rules.index(one.rule))
    return f"; {script}:{found[0].place.line} {found[0].rule}: {found[0].message}" if found else ""


def _diagnose(observed: Observed, script: str | None) -> None:
    """Print what the error that ended the run means, with its memory curve and the findings that explain it, to standard error."""
    import contextlib

    from mpslint.diagnose import diagnose, log_of_bytes
    from mpslint.diagnose.diagnosis import Outcome
    from mpslint.diagnose.joining import join
    from mpslint.report.console import console
    from mpslint.report.diagnosis import print_diagnosis
    from mpslint.report.joined import print_sources
    from mpslint.report.terminal import terminal
    from mpslint.run.table import memory_log
    from mpslint.session.session import Options, check_file
    from mpslint.source.files import find_files

    diagnosis = diagnose(log_of_bytes(f"{memory_log(observed)}{observed.error}".encode("utf-8", "replace"), "this run"))
    if diagnosis.outcome is Outcome.UNKNOWN:
        click.echo("mpslint: the error above isn't one that mpslint knows from MPS.", err=True)
        return
    options = Options(observed={"torch": observed.torch.partition("+")[0]} if observed.torch else {})
    sources = [join(diagnosis, check_file(found, options)) for found in find_files([script])] if script is not None else []
    with contextlib.redirect_stdout(sys.stderr):
        click.echo()
        print_diagnosis(diagnosis, console())
        print_sources(terminal(), [source for source in sources if not source.problem])
