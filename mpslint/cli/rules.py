"""`mpslint rules`: the list of rules."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mpslint.cli._say import standard_input
from mpslint.core.finding import ReadError, UsageError
from mpslint.core.inert import json_text
from mpslint.core.knowledge import schema_text
from mpslint.session.configuration import find_configuration

if TYPE_CHECKING:
    from mpslint.rule.rule import Rule


@click.command(short_help="List the rules.")
@click.option(
    "--format", "output_format", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True, help="How to list."
)
@click.option("--schema", is_flag=True, help="Print the JSON schema of rule files instead, for editors.")
@click.option("--test", "own", is_flag=True, help="Run the examples of rule files, which are their tests.")
@click.option(
    "--why", "asked", nargs=2, metavar="FILE RULE", help="Say why a rule says nothing about a file: versions, condition or value."
)
@click.argument("folders", nargs=-1, type=click.Path(exists=True, path_type=Path), metavar="[PATH]...")
def command(output_format: str, schema: bool, own: bool, asked: tuple[str, str] | None, folders: tuple[Path, ...]) -> None:
    """List every rule: its id, its worst severity, how it can be fixed, and what it is about.

    PATH is a rule file of your own or a folder of them; those that the configuration names (`rules`) are listed anyway. With --test only
    the rules at PATH are tested.

    \b
    Examples:
      mpslint rules
      mpslint rules --format json
      mpslint rules --test my_rules
      mpslint rules --test my_rules/XYZ001-my-rule.yaml
      mpslint rules --why train.py MPS301

    \b
    Exit codes: 0 listed, or all examples passed; 1 an example failed; 2 usage, or an invalid rule file; 3 the file cannot be read.
    """
    if schema:
        click.echo(schema_text("rule"), nl=False)
        return
    if asked is not None:
        _say_why(*asked)
        return
    from mpslint.report.console import console
    from mpslint.report.rule_page import rules_markdown
    from mpslint.report.rules import rules_table
    from mpslint.rule.loading import load_rules

    rules = load_rules(find_configuration(Path.cwd()).rules, folders)
    if own:
        places = [folder.resolve() for folder in folders]
        sys.exit(_test([rule for rule in rules if not places or any(map(rule.path.resolve().is_relative_to, places))], rules))
    if output_format == "text":
        console().print(rules_table(rules))
        return
    if output_format == "markdown":
        click.echo(rules_markdown(rules), nl=False)
        return
    from mpslint.report.rule_page import rule_as_data

    click.echo(json_text([rule_as_data(rule) for rule in rules]))


def _test(tested: Sequence[Rule], rules: Sequence[Rule]) -> int:
    """Run the examples of some rules, say which are not as they should be, and return the exit code."""
    from mpslint.report.text import counted
    from mpslint.session.examples import example_problems

    count = failed = 0
    for rule in tested:
        for number, example in enumerate(rule.examples, start=1):
            problems = example_problems(rule, example, rules)
            count, failed = count + 1, failed + bool(problems)
            for problem in problems:
                click.echo(f"{rule.path}: example {number}: {problem}")
    if not tested:
        raise UsageError("no rule file there: the files of rules end in .yaml")
    click.echo(f"{counted(len(tested), 'rule')}, {counted(count, 'example')}: {f'{failed} failed' if failed else 'all passed'}.")
    return 1 if failed else 0


def _say_why(path: str, name: str) -> None:
    """Print why a rule says nothing about a file, by itself and in the runs that it starts; or where it does."""
    from mpslint.rule.loading import load_rules
    from mpslint.rule.selection import select_rules
    from mpslint.rule.why import why_silent
    from mpslint.session.runs import check_paths
    from mpslint.session.session import Options, configuration_for, rules_for
    from mpslint.source.files import STANDARD_INPUT

    if Path(path).is_dir():
        raise ReadError(f"{path}: is a folder; --why asks about a file")
    stdin = standard_input() if path == STANDARD_INPUT else b""
    for rule in select_rules(load_rules(find_configuration(Path(path).parent).rules), (name,), ()):
        options = Options(select=(rule.id,), with_plans=True, stdin=stdin)
        result = next(check_paths([path], options))
        if result.problem:
            raise ReadError(result.problem)
        evidence = result.checked.evidence if result.checked is not None else ()
        lines = dict.fromkeys(line for one in evidence for line in why_silent(rule, one))
        is_left_out = rule not in rules_for(path, configuration_for(path, options), options)
        otherwise = "the file names no framework that the rule could be about"
        for line in ["the configuration leaves the rule out for this file"] if is_left_out else lines or [otherwise]:
            click.echo(f"{rule.id} {rule.name}: {line}")
