"""`mpslint config`: the effective configuration and its sources."""

from __future__ import annotations

from typing import Any

import click

from mpslint.cli._options import configuration_of, format_option, target_of, target_options
from mpslint.cli._say import standard_input
from mpslint.core.inert import json_text
from mpslint.core.knowledge import schema_text
from mpslint.session.session import Options
from mpslint.source.files import STANDARD_INPUT


@click.command(short_help="Show the effective configuration of a path and its sources.")
@click.argument("path", default=".")
@format_option("text", "json", help="How to show it.")
@click.option("--schema", is_flag=True, help="Print the JSON schema of the configuration instead, for editors.")
@target_options
def command(path: str, output_format: str, schema: bool, **values: Any) -> None:
    """Show the effective configuration of a file or folder: each key with the file that sets it, the rules, and the Target.

    The Target is what a file is checked for: versions of packages and of macOS, each with its source, and the Mac.

    \b
    Examples:
      mpslint config
      mpslint config notebooks/train.ipynb
      mpslint config train.py --torch 2.9 --format json
      mpslint config --schema > mpslint.schema.json
    """
    if schema:
        click.echo(schema_text("mpslint"), nl=False)
        return
    from mpslint.report.in_force import as_data, print_in_force
    from mpslint.session.effective import in_force

    stdin = standard_input() if path == STANDARD_INPUT else b""
    found = in_force(path, Options(target=target_of(values), **configuration_of(values), stdin=stdin))
    if output_format == "json":
        click.echo(json_text(as_data(found)))
        return
    from mpslint.report.terminal import terminal

    print_in_force(terminal(), found)
