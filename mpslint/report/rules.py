"""One rule, or all of them, in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mpslint.report.rule_page import first_bad, fix_word, in_general, outcome_versions, recipe_words, worst_of
from mpslint.report.text import COLOURS
from mpslint.rule import Example, Rule


def print_rule(out: Console, rule: Rule) -> None:
    """Print one rule: what happens in which versions, why, how it is mended, before and after, and the sources."""
    out.print(Text.assemble((rule.id, "bold"), f" {rule.name}"))
    out.print(rule.title)
    out.print()
    for outcome in rule.outcomes:
        versions = outcome_versions(rule, outcome)
        out.print(Text.assemble("  ", (outcome.severity.value.ljust(8), COLOURS[outcome.severity.value]), (versions, "bold")))
        out.print(f"           {in_general(outcome.message)}")
    out.print()
    out.print(rule.why)
    for recipe in rule.fixes:
        words = recipe_words(recipe)
        versions = f" ({recipe.versions})" if str(recipe.versions) else ""
        out.print(Text.assemble("\n", (f"Fix, {recipe.safety.value}{versions}", "bold"), f": {words}" if words else ""))
        if recipe.reason:
            out.print(f"  {recipe.reason}")
    example = first_bad(rule)
    if example is not None:
        _print_example(out, example)
    silent = next((example for example in rule.examples if example.ok), None)
    if silent is not None:
        out.print(Text("\nNot reported", style="bold"))
        _print_code(out, silent.ok)
    out.print(Text("\nSources", style="bold"))
    for source in rule.sources:
        out.print(f"  {source}")


def _print_example(out: Console, example: Example) -> None:
    target = ", ".join(f"{name} {version}" for name, version in example.target.items())
    out.print(Text(f"\nBefore{f' (for {target})' if target else ''}", style="bold"))
    _print_code(out, example.bad)
    if example.good:
        out.print(Text("After", style="bold"))
        _print_code(out, example.good)


def _print_code(out: Console, code: str) -> None:
    for line in code.rstrip().splitlines():
        out.print(Text(f"  {line}", style="cyan"))


def rules_table(rules: Sequence[Rule]) -> Table:
    """Return every rule as one row: id, name, the worst severity, how it can be mended, title."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for column in ("id", "name", "severity", "fix", "title"):
        table.add_column(column, overflow="fold", no_wrap=column in ("id", "severity", "fix"))
    for rule in rules:
        worst = worst_of(rule)
        table.add_row(rule.id, rule.name, Text(worst.value, style=COLOURS[worst.value]), fix_word(rule), rule.title)
    return table
