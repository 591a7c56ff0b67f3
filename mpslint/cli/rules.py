"""`mpslint rules`: the list of rules."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mpslint.configuration import find_configuration

if TYPE_CHECKING:
    from mpslint.rule import Rule


@click.command(short_help="List the rules.")
@click.option(
    "--format", "output_format", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True, help="How to list."
)
@click.option("--schema", is_flag=True, help="Print the JSON schema of rule files instead, for editors.")
@click.option("--test", "own", is_flag=True, help="Run the examples of rule files, which are their tests.")
@click.argument("folders", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="[FOLDER]...")
def command(output_format: str, schema: bool, own: bool, folders: tuple[Path, ...]) -> None:
    """List every rule: its id, its worst severity, how it can be fixed, and what it is about.

    FOLDER holds rule files of your own; those that the configuration names (`rules`) are listed without being named here.

    \b
    Examples:
      mpslint rules
      mpslint rules --format json
      mpslint rules --test my_rules

    \b
    Exit codes: 0 listed, or every example as it should be; 1 an example is not; 2 usage, or a rule file that is wrong.
    """
    if schema:
        from mpslint.schema import rule_schema, schema_text

        click.echo(schema_text(rule_schema()), nl=False)
        return
    from mpslint.report.console import console
    from mpslint.report.rule_page import fix_word, rules_markdown
    from mpslint.report.rules import rules_table
    from mpslint.rule import load_rules

    rules = load_rules(tuple(dict.fromkeys((*find_configuration(Path.cwd()).rules, *folders))))
    if own:
        sys.exit(_test([rule for rule in rules if not folders or rule.path.parent in folders], rules))
    if output_format == "text":
        console().print(rules_table(rules))
        return
    if output_format == "markdown":
        click.echo(rules_markdown(rules), nl=False)
        return
    import json

    rows = [
        {
            "id": rule.id,
            "name": rule.name,
            "title": rule.title,
            "outcomes": [{"versions": str(o.versions), "severity": o.severity.value, "message": o.message} for o in rule.outcomes],
            "fix": fix_word(rule) or None,
            "why": rule.why,
            "sources": list(rule.sources),
        }
        for rule in rules
    ]
    click.echo(json.dumps(rows, indent=2, ensure_ascii=False))


def _test(tested: Sequence[Rule], rules: Sequence[Rule]) -> int:
    """Run the examples of some rules, say which are not as they should be, and return the exit code."""
    from mpslint.examples import example_problems

    count = failed = 0
    for rule in tested:
        for number, example in enumerate(rule.examples, start=1):
            problems = example_problems(rule, example, rules)
            count, failed = count + 1, failed + bool(problems)
            for problem in problems:
                click.echo(f"{rule.path}: example {number}: {problem}")
    click.echo(f"{len(tested)} rules, {count} examples: " + (f"{failed} not as they should be." if failed else "all as they should be."))
    return 1 if failed else 0
