"""`mpslint explain`: one rule."""

from __future__ import annotations

from pathlib import Path

import click

from mpslint.configuration import find_configuration


@click.command(short_help="Explain a rule.")
@click.argument("names", nargs=-1, required=True, metavar="RULE...")
def command(names: tuple[str, ...]) -> None:
    """Explain rules: what happens in which versions, why, what to do, before and after, and where it is known from.

    \b
    Examples:
      mpslint explain MPS101
      mpslint explain fp16-mixed-precision
      mpslint explain MPS3
    """
    from mpslint.report.console import console
    from mpslint.report.rules import print_rule
    from mpslint.rule import load_rules
    from mpslint.session import select_rules

    out = console()
    for number, rule in enumerate(select_rules(load_rules(find_configuration(Path.cwd()).rules), names, ())):
        if number:
            out.rule(style="dim")
        print_rule(out, rule)
