"""`mpslint plan`: the training run as mpslint understands it."""

from __future__ import annotations

import sys
from typing import Any

import click

from mpslint.cli._options import file_options, options_of
from mpslint.session import check_paths


@click.command(short_help="Show the training run as mpslint understands it.")
@file_options
@click.option("--format", "output_format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to report.")
@click.option("--written", is_flag=True, help="Only what the file says, without defaults.")
def command(output_format: str, written: bool, **values: Any) -> None:
    """Show each training run of a file: every setting, its value, where it was written, or for which versions the default holds.

    \b
    Examples:
      mpslint plan train.ipynb
      mpslint plan train.py --written
      mpslint plan train.py --format json --transformers 4.40
    """
    results = list(check_paths(values["paths"], options_of(values)))
    if output_format == "json":
        import json

        from mpslint.report.machine import plan_as_json

        found = [
            {"path": result.path, "plans": [plan_as_json(one.document, plan) for one in result.checked.evidence for plan in one.plans]}
            for result in results
            if result.checked is not None
        ]
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        from mpslint.report.console import console
        from mpslint.report.plan import print_plans

        print_plans(console(), results, with_defaults=not written)
    from mpslint.report.text import print_problems
    from mpslint.view import view

    print_problems([view(result) for result in results])
    sys.exit(3 if any(result.problem for result in results) else 0)
