"""One rule, or all of them, in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import unified_diff

from rich.table import Table
from rich.text import Text

from mpslint.core.finding import Finding
from mpslint.core.links import rule_url
from mpslint.report.finding import COLOURS
from mpslint.report.rule_page import first_bad, fix_word, in_general, outcome_versions, told_fixes, worst_of
from mpslint.report.terminal import Terminal
from mpslint.rule.rule import Example, Rule

SHOWN_LINES, SHOWN_AROUND = 9, 1
"""Lines of an example that a short explanation shows, and how many of them around a change."""


def print_in_short(out: Terminal, rule: Rule, example: Example | None, found: Sequence[Finding], versions: str) -> None:
    """Print what fits a screen: what an example of a rule gives for some versions, why, before and after, and the fix."""
    _print_head(out, rule)
    if versions:
        out.wrapped((f"For {versions}", "dim"))
    for finding in found[:1]:
        out.wrapped("  ", (finding.severity.value, COLOURS[finding.severity.value]), f" {finding.message}")
    if not found and versions:
        out.paragraph("  ", "The example below isn't reported for these versions.")
    out.line()
    out.paragraph("", " ".join(rule.why.strip().split("\n\n")[0].split()))
    if example is not None:
        out.line()
        _print_change(out, example)
    for fix in [one.fix for one in found[:1] if one.fix is not None]:
        out.line()
        out.wrapped((f"Fix, {fix.safety.value}", "bold"), f": {fix.summary}", f" ({fix.reason})" if fix.reason else "")
    out.line()
    out.wrapped(f"All versions and fixes, what isn't reported, and the sources: mpslint explain {rule.id} --all")


def _print_head(out: Terminal, rule: Rule) -> None:
    out.line(out.linked(rule.id, rule_url(rule.id)), f" {rule.name}")
    out.paragraph("", rule.title)
    out.line()


def _print_change(out: Terminal, example: Example) -> None:
    """Print an example as a diff against its rewrite, or as it is where there's none; of a long one the beginning."""
    lines = example.bad.rstrip().splitlines()
    if example.good:
        compared = unified_diff(lines, example.good.rstrip().splitlines(), n=SHOWN_AROUND, lineterm="")
        lines = [line for line in compared if line.strip() and not line.startswith(("---", "+++", "@@"))]
    for line in lines[:SHOWN_LINES]:
        out.line((f"  {line}", {"-": "red", "+": "green"}.get(line[:1] if example.good else "", "cyan")))
    if len(lines) > SHOWN_LINES:
        out.line(("  ...", "dim"))


def print_rule(out: Terminal, rule: Rule) -> None:
    """Print one rule: what happens in which versions, why, how it is fixed, before and after, and the sources."""
    url = rule_url(rule.id)
    _print_head(out, rule)
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
