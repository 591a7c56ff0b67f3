"""`mpslint explain`: one rule."""

from __future__ import annotations

from pathlib import Path

import click

from mpslint.cli._options import RuleName, format_option
from mpslint.core.inert import json_text
from mpslint.session.configuration import find_configuration


@click.command(short_help="Explain a rule.")
@click.argument("names", nargs=-1, required=True, type=RuleName(), metavar="RULE...")
@format_option("text", "json", "markdown", help="Format of the explanation.", names=("--format", "--output-format"))
@click.option("--all", "is_whole", is_flag=True, help="All versions and fixes, what isn't reported, and the sources.")
def command(names: tuple[str, ...], output_format: str, is_whole: bool) -> None:
    """Explain rules: what happens for the versions of this folder, why, before and after, and what to do.

    \b
    Examples:
      mpslint explain MPS101
      mpslint explain fp16-mixed-precision
      mpslint explain MPS101 --all
      mpslint explain MPS3
      mpslint explain MPS101 --format markdown
    """
    from mpslint.rule.loading import load_rules
    from mpslint.rule.selection import select_rules

    rules = select_rules(load_rules(find_configuration(Path.cwd()).rules), names, ())
    if output_format == "json":
        from mpslint.report.rule_page import rule_as_data

        click.echo(json_text([rule_as_data(rule) for rule in rules]))
        return
    if output_format == "markdown":
        from mpslint.report.rule_page import rule_page

        click.echo("\n".join(f"# {rule.id} {rule.name}\n\n{rule_page(rule)}" for rule in rules), nl=False)
        return
    from mpslint.report.rules import print_in_short, print_rule
    from mpslint.report.terminal import terminal
    from mpslint.session.examples import shown_example

    out = terminal()
    for number, rule in enumerate(rules):
        if number:
            out.line(("-" * min(out.width, 80), "dim"))
        if is_whole:
            print_rule(out, rule)
        else:
            print_in_short(out, rule, *shown_example(rule))
