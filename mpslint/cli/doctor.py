"""`mpslint doctor`: what this machine and environment will do to a training run."""

from __future__ import annotations

import sys

import click

from mpslint.core.inert import json_text


@click.command(name="doctor", short_help="Examine this machine for running on MPS.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Format of the report.")
@click.option("--no-torch", is_flag=True, help="Don't import torch (in a child process) to query MPS.")
@click.option("--timeout", type=click.FloatRange(min=0.1), default=60.0, show_default=True, metavar="SECONDS", help="Time limit for torch.")
@click.option(
    "--calibrate", is_flag=True, help="Measure how fast this machine runs operators (about 20 s), and keep it for plan --estimate."
)
@click.option("--forget-calibration", is_flag=True, help="Remove the measurements that were kept.")
def command(form: str, no_torch: bool, timeout: float, calibrate: bool, forget_calibration: bool) -> None:
    """Examine macOS, the chip, versions, variables and configuration, and report what is known to break.

    Packages aren't imported, except torch in a child process. Without a Mac, the report says what can't be determined.

    \b
    Examples:
      mpslint doctor
      mpslint doctor --format json
      mpslint doctor --no-torch
      mpslint doctor --calibrate

    \b
    Exit codes: 0 no problem that affects every run, 1 such a problem, 2 usage.
    """
    from mpslint.doctor import examine
    from mpslint.verify import calibrations

    if forget_calibration:
        from mpslint.cli._say import say

        removed = calibrations.forget()
        say(f"Removed {removed} measurement{'' if removed == 1 else 's'}.")
        return
    if calibrate:
        calibrations.calibrate()
    examination = examine(ask_torch=not no_torch, timeout=timeout)
    if form == "json":
        from mpslint.report.doctor import examination_json

        click.echo(json_text(examination_json(examination, calibrations.kept(), calibrations.kept_steps())))
    else:
        from mpslint.report.console import console
        from mpslint.report.doctor import print_examination

        print_examination(examination, console(), calibrations.kept(), calibrations.kept_steps())
    sys.exit(1 if examination.concerns_every_run else 0)
