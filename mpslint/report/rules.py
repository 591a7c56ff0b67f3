"""One rule, or all of them, in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from mpslint.core.links import rule_url
from mpslint.report.finding import COLOURS
from mpslint.report.rule_page import first_bad, fix_word, in_general, outcome_versions, told_fixes, worst_of
from mpslint.report.terminal import Terminal
from mpslint.rule.rule import Example, Rule


def print_rule(out: Terminal, rule: Rule) -> None:
    """Print one rule: what happens in which versions, why, how it is fixed, before and after, and the sources."""
    url = rule_url(rule.id)
    out.line(out.linked(rule.id, url), f" {rule.name}")
    out.paragraph("", rule.title)
    out.line()
    for outcome in rule.outcomes:
        versions = outcome_versions(rule, outcome)
        out.wrapped("  ", (outcome.severity.value.ljust(8), COLOURS[outcome.severity.value]), (versions, "bold"), indent=10)
        out.paragraph(" " * 10, in_general(outcome.message))
    for paragraph in rule.why.strip().split("\n\n"):
        out.line()
        out.paragraph("", " ".join(paragraph.split()))
    for head, words, reason in told_fixes(rule):
        out.line()
        out.wrapped((head, "bold"), f": {words}" if words else "")
        if reason:
            out.paragraph("  ", reason)
    example = first_bad(rule)
    if example is not None:
        _print_example(out, example)
    silent = next((example for example in rule.examples if example.ok), None)
    if silent is not None:
        out.line()
        out.line(("Not reported", "bold"))
        _print_code(out, silent.ok)
    out.line()
    out.line(("Sources", "bold"))
    for source in rule.sources:
        out.paragraph("  ", source)
    if url:
        out.line("  ", out.linked(url, url, "blue"))


def _print_example(out: Terminal, example: Example) -> None:
    target = ", ".join(f"{name} {version}" for name, version in example.target.items())
    out.line()
    out.line((f"Before{f' (for {target})' if target else ''}", "bold"))
    _print_code(out, example.bad)
    if example.good:
        out.line(("After", "bold"))
        _print_code(out, example.good)


def _print_code(out: Terminal, code: str) -> None:
    for line in code.rstrip().splitlines():
        out.line((f"  {line}", "cyan"))


def rules_table(rules: Sequence[Rule]) -> Table:
    """Return every rule as one row: id, name, the worst severity, how it can be fixed, title."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for column in ("id", "name", "severity", "fix", "title"):
        table.add_column(column, overflow="fold", no_wrap=column in ("id", "severity", "fix"))
    for rule in rules:
        worst = worst_of(rule)
        table.add_row(rule.id, rule.name, Text(worst.value, style=COLOURS[worst.value]), fix_word(rule), rule.title)
    return table
