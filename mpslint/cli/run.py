"""`mpslint run`: the real run, whole and unchanged, watched."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from mpslint.report.console import Lines
    from mpslint.run.events import Observed
    from mpslint.run.launch import CommandEnd
    from mpslint.run.script import Script
    from mpslint.run.watcher import Watcher

_NEW_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(
    name="run",
    short_help="Watch your own training run.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option("--csv", "table", type=_NEW_FILE, metavar="FILE", help="Write step, time and memory to FILE.")
@click.option("--html", "page", type=_NEW_FILE, metavar="FILE", help="Write a page with the curves to FILE when the run ends.")
@click.option("--every", type=click.FloatRange(min=1), default=60.0, show_default=True, help="Seconds between status lines.")
@click.option("--quiet", "-q", is_flag=True, help="Print warnings and the diagnosis only.")
@click.option(
    "--stop-before-swap",
    is_flag=True,
    help="End the run with Ctrl-C, after the step in which driver memory passes what Metal recommends or 1 GiB has gone into swap.",
)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND...")
def command(table: Path | None, page: Path | None, every: float, quiet: bool, stop_before_swap: bool, words: tuple[str, ...]) -> None:
    """Run COMMAND, whole and unchanged, and watch it: steps, memory, batch shapes, dtypes, operators on the CPU, NaN, swap.

    COMMAND is a script with its arguments, -m MODULE, or a command such as accelerate launch. Its input, output, signals and exit code are
    its own; mpslint prints its lines to standard error. A warning is printed once, as early as the numbers allow, with the finding of
    `mpslint check` that explains it. When the run ends with an error, the diagnosis follows the traceback. In a notebook, use
    `%load_ext mpslint` and `%mpslint run`.

    \b
    Examples:
      mpslint run train.py --epochs 3
      mpslint run --csv memory.csv --html run.html -m project.train
      mpslint run --stop-before-swap accelerate launch train.py --config base.yaml

    \b
    Exit codes: those of COMMAND; 2 when mpslint can't start it.
    """
    from mpslint.report.console import Lines
    from mpslint.run.events import StepTable
    from mpslint.run.launch import run
    from mpslint.run.script import Script, script_of
    from mpslint.run.watcher import Watcher

    lines = Lines(quiet)
    script = Script(script_of(words))
    watcher = Watcher(lines.say, script.explanation, script.precision_missed, every)
    for path in filter(None, (table, page)):
        path.touch()  # a folder that isn't there is told before the run, not after it
    ended = run(words, watcher, stop_before_swap, StepTable(table).update)
    try:
        _tell_the_end(ended, watcher, script, words, page, lines)
    except OSError as error:  # a full disk, a closed output: the exit code stays the command's
        with contextlib.suppress(OSError):
            lines.say(f"warning: what the run came to can't be written: {error}")
    sys.exit(ended.exit_code)


def _tell_the_end(ended: CommandEnd, watcher: Watcher, script: Script, words: tuple[str, ...], page: Path | None, lines: Lines) -> None:
    """Print what the run came to, with the diagnosis of its error, and write its page."""
    import shlex

    from mpslint.report.run_ending import ending_text, print_ending, told_of_signal, told_of_unknown

    observed = ended.observed
    summary = watcher.summary(observed) if observed.steps else "no optimizer step was seen"
    if observed.steps or not observed.blind:
        lines.say(summary if observed.steps else f"{summary}: nothing was trained, or torch.optim wasn't used")
    if observed.steps and observed.device == "mps" and script.path(observed) is not None:
        _keep(observed, str(script.path(observed)))
    if ended.exit_code and observed.error and not print_ending(observed, script, words):
        lines.say(f"warning: {told_of_unknown(observed, script)}")
    told = told_of_signal(ended.signal, observed)
    if told and not observed.error:
        lines.say(f"warning: {told}")
    if page is not None:
        from mpslint.run.page import write_page

        ending = f"{observed.error}{ending_text(observed, script, words)}"
        write_page(page, observed, shlex.join(words), summary, lines.warnings, ending)
        lines.say(f"the page: {page}")


def _keep(observed: Observed, script: str) -> None:
    """Keep what a step of the script took on this Mac, for `plan --estimate` and `report --measurement`."""
    from mpslint.run.events import step_times
    from mpslint.verify.calibrations import FILE, keep_run, warm_times
    from mpslint.verify.last import MeasuredRun, keep_watched, memory_of

    times = step_times(observed.steps)
    path = str(Path(script).resolve())
    keep_run(FILE + path, observed.device, observed.torch, times)
    seconds = warm_times(times)
    if seconds is not None:
        memory = memory_of([(step.number, step.live, step.driver, step.shapes) for step in observed.steps])
        given = (path, observed.device, observed.torch, observed.steps[-1].number, seconds, memory, observed.dtypes, observed.computed)
        keep_watched(MeasuredRun(*given))
