"""`mpslint plan`: the training run as mpslint understands it."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import click

from mpslint.cli._options import WithWords, file_options, format_option, options_of, paths_of, words_of
from mpslint.cli._say import EXIT_UNREADABLE, complain
from mpslint.core.finding import ReadError
from mpslint.core.inert import json_text
from mpslint.session.runs import check_paths


@click.command(cls=WithWords, short_help="Show the training run as mpslint understands it.")
@file_options
@format_option("text", "json", help="How to report.")
@click.option("--estimate", is_flag=True, help="Say what memory and time the run needs on which Mac.")
@click.option("--written", is_flag=True, help="Only what the file says, without defaults.")
def command(output_format: str, estimate: bool, written: bool, **values: Any) -> None:
    """Show each training run of a file: every setting, its value, where it was written, or for which versions the default holds.

    \b
    Examples:
      mpslint plan train.ipynb
      mpslint plan train.py --written
      mpslint plan train.py --format json --transformers 4.40
      mpslint plan launch.sh
      mpslint plan Makefile
      mpslint plan train.py -- --batch_size 4
      mpslint plan train.ipynb --estimate
      mpslint plan train.ipynb --estimate --chip "M4 Pro"
    """
    words = words_of(values)
    if estimate:
        sys.exit(_estimate(values, output_format, words))
    results = list(check_paths(paths_of(values), replace(options_of(values), with_plans=True, started=words)))
    if output_format == "json":
        from mpslint.report.machine import plan_as_json

        found = [
            {"path": result.path, "plans": [plan_as_json(one.document, plan) for one in result.checked.evidence for plan in one.plans]}
            for result in results
            if result.checked is not None
        ]
        click.echo(json_text(found))
    else:
        from mpslint.report.console import console
        from mpslint.report.plan import print_plans

        if not results:
            complain(f"mpslint: no file to plan in {', '.join(paths_of(values))}")
        print_plans(console(), results, with_defaults=not written)
    from mpslint.report.text import print_problems
    from mpslint.session.view import view

    print_problems([view(result) for result in results])
    sys.exit(3 if any(result.problem for result in results) else 0)


def _estimate(values: dict[str, Any], output_format: str, words: tuple[str, ...]) -> int:
    """Print the memory and the time that each file's run is estimated to need; return the exit code."""
    from mpslint.core.data import to_data
    from mpslint.estimate.timing import macs_of
    from mpslint.report.console import console
    from mpslint.report.plan import print_forecast
    from mpslint.verify import work
    from mpslint.verify.files import estimate_file, told
    from mpslint.verify.start import AskedFiles, files
    from mpslint.verify.text import print_estimate

    if not work.has_torch():
        raise ReadError("--estimate needs torch and transformers: pip install 'mpslint[verify]'")
    asked = AskedFiles(paths_of(values), replace(options_of(values), started=words))
    macs = macs_of((values["chip"],) if values.get("chip") else ())
    found, problems = [], []
    for file in files(asked):
        try:
            found.append(estimate_file(file, asked, macs=macs))
        except ReadError as error:
            problems.append(f"{file.path}: {told(error, file.path)}")
    if not (found or problems):
        problems.append(f"{', '.join(asked.paths)}: no training run that mpslint can read")
    if output_format == "json":
        click.echo(json_text([to_data(one) for one in found]))
    else:
        for one in found:
            print_estimate(f"{one.path}: {one.known.run}", one.known.estimates[0], one.known.fits, one.known.assumptions, console())
            if one.forecast is not None:
                print_forecast(one.forecast, console())
    for problem in problems:
        complain(f"mpslint: {problem}")
    return EXIT_UNREADABLE if problems else 0
