"""`mpslint rules`: the list of rules."""

from __future__ import annotations

from pathlib import Path

import click

from mpslint.configuration import find_configuration


@click.command(short_help="List the rules.")
@click.option(
    "--format", "output_format", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True, help="How to list."
)
@click.option("--schema", is_flag=True, help="Print the JSON schema of rule files instead, for editors.")
def command(output_format: str, schema: bool) -> None:
    """List every rule: its id, its worst severity, how it can be fixed, and what it is about."""
    if schema:
        from mpslint.schema import rule_schema, schema_text

        click.echo(schema_text(rule_schema()), nl=False)
        return
    from mpslint.report.console import console
    from mpslint.report.rule_page import fix_word, rules_markdown
    from mpslint.report.rules import rules_table
    from mpslint.rule import load_rules

    rules = load_rules(find_configuration(Path.cwd()).rules)
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
