"""`mpslint check`: say what will go wrong."""

from __future__ import annotations

import sys
from typing import Any

import click

from mpslint.cli._options import file_options, options_of
from mpslint.cli._progress import with_progress
from mpslint.session import check_file, exit_code, files_of


@click.command(short_help="Say what will go wrong on a Mac, and why.")
@file_options
@click.option("--format", "output_format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to report.")
@click.option("-q", "--quiet", is_flag=True, help="One line a finding.")
@click.option("--statistics", is_flag=True, help="How often each rule was found, instead of the findings.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever was found.")
def command(output_format: str, quiet: bool, statistics: bool, exit_zero: bool, **values: Any) -> None:
    """Say what will crash, run out of memory or train wrong on a Mac, with the line, the cause and a fix.

    PATH is a script, a notebook, a shell script or .env file, or a folder of them; - is standard input. Nothing of it is run.

    \b
    Examples:
      mpslint check train.ipynb
      mpslint check src/ notebooks/ --severity warning
      mpslint check train.py --torch 2.9 --transformers 4.57 --memory 16GB
      cat train.py | mpslint check - --stdin-filename train.py
      mpslint check . --select MPS1,MPS5 --format json

    \b
    Exit codes: 0 nothing wrong (notes do not count), 1 errors or warnings, 2 usage or configuration, 3 something could not be read.
    """
    options = options_of(values)
    files = list(files_of(values["paths"], options))
    results = list(with_progress((check_file(found, options) for found in files), len(files), "Checking"))
    if output_format == "json":
        import json

        from mpslint.report.machine import as_json

        click.echo(json.dumps(as_json(results), indent=2, ensure_ascii=False))
    else:
        from mpslint.report.text import console, print_problems, print_report, print_statistics

        if statistics:
            print_statistics(console(), results)
        else:
            print_report(console(), results, quiet)
        print_problems(results)
    sys.exit(0 if exit_zero else exit_code(results))
