"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from mpslint.cli._say import standard_input
from mpslint.core.finding import Severity, UsageError
from mpslint.session.session import Options
from mpslint.source.files import STANDARD_INPUT

PACKAGES = ("torch", "transformers", "accelerate", "trl", "peft", "lightning", "macos")

_WORDS = "mpslint.words"

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class WithWords(click.Command):
    """A command whose words after `--` are those with which a script is started."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Set the words after `--` aside, where a file stands before it."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_WORDS] = tuple(args[at + 1 :])
        return super().parse_args(ctx, args[:at])


def words_of(values: dict[str, Any]) -> tuple[str, ...]:
    """Return the words after `--`; where no file stands before it, they are files."""
    words: tuple[str, ...] = click.get_current_context().meta.get(_WORDS, ())
    if not words or values.get("paths"):
        return words
    values["paths"] = words
    return ()


class RuleName(click.types.StringParamType):
    """The id, name or beginning of an id of a rule, which shells complete; whether there is such a rule depends on the configuration."""

    name = "rule"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the rules that begin with what is typed, after the last comma: ids with their titles, and names."""
        from mpslint.rule.loading import load_rules

        before, _, word = incomplete.rpartition(",")
        start = f"{before}," if before else ""
        by_id = [(rule.id, rule.title) for rule in load_rules() if rule.id.startswith(word.upper())]
        by_name = [(rule.name, rule.id) for rule in load_rules() if word and rule.name.startswith(word)]
        return [CompletionItem(f"{start}{value}", help=text) for value, text in by_id + by_name]


def format_option(*choices: str, help: str, names: Sequence[str] = ("--format",)) -> Decorator:
    """Return the option that says how to print; the first of its choices is the default."""
    return click.option(*names, "output_format", type=click.Choice(choices), default=choices[0], show_default=True, help=help)


def file_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the arguments and options that say which files are read and by which rules."""
    decorators: list[Decorator] = [
        click.argument("paths", nargs=-1, metavar="[PATH]..."),
        *_rule_options(),
        click.option(
            "--per-file-ignores", multiple=True, metavar="GLOB:RULE", help="Ignore a rule in the files that match a pattern. Repeatable."
        ),
        click.option("--exclude", multiple=True, metavar="PATTERN", help="Files to skip, as in .gitignore. Repeatable."),
        click.option("--force-exclude", is_flag=True, help="Also skip excluded files that are named on the command line."),
        click.option("--no-respect-gitignore", is_flag=True, help="Also read files that .gitignore names."),
        click.option("--stdin-filename", default="", metavar="NAME", help="File name of standard input (`-`)."),
    ]
    return _with(target_options(function), decorators)


def rule_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say by which rules files are judged, and for which Mac and versions."""
    return _with(target_options(function), _rule_options())


def _with(function: Callable[..., Any], decorators: Sequence[Decorator]) -> Callable[..., Any]:
    for decorator in reversed(decorators):
        function = decorator(function)
    return function


def _rule_options() -> list[Decorator]:
    rule = RuleName()
    return [
        click.option(
            "--select", multiple=True, type=rule, metavar="RULE", help="Rules to check: ids, names or prefixes (MPS3). Repeatable."
        ),
        click.option(
            "--extend-select", multiple=True, type=rule, metavar="RULE", help="Rules to add to those that are selected. Repeatable."
        ),
        click.option("--ignore", "--extend-ignore", multiple=True, type=rule, metavar="RULE", help="Rules to leave out. Repeatable."),
        click.option("--severity", type=click.Choice([s.value for s in Severity]), help="Minimum severity to report."),
    ]


def target_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which Mac and versions a check is for, and which configuration holds."""
    configuration: list[Decorator] = [
        click.option(
            "--config",
            multiple=True,
            metavar="FILE|KEY=VALUE",
            help="A configuration file in place of the nearest one, or one setting (target.torch=2.9). Repeatable.",
        ),
        click.option("--isolated", is_flag=True, help="Ignore all configuration files."),
    ]
    return version_options(_with(function, configuration))


def version_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which Mac and versions are meant."""
    options: list[Decorator] = [
        *(click.option(f"--{name}", metavar="VERSION", help=f"The version of {name} to check for.") for name in PACKAGES),
        click.option("--memory", metavar="SIZE", help="The Mac's memory, such as 16GB."),
        click.option("--chip", metavar="CHIP", help="The Mac's chip, such as m2."),
    ]
    return _with(function, options)


def options_of(values: dict[str, Any]) -> Options:
    """Return the Options that the command line gave. Raises UsageError for one that cannot be read."""
    paths = paths_of(values)
    if values.get("stdin_filename") and STANDARD_INPUT not in paths:
        raise UsageError("--stdin-filename is the name of standard input: give - as the path")
    return Options(
        tuple(_split(values["select"])),
        tuple(_split(values["ignore"])),
        Severity(values["severity"]) if values["severity"] else None,
        tuple(values.get("exclude", ())),
        values.get("force_exclude", False),
        target_of(values),
        **configuration_of(values),
        stdin=standard_input() if STANDARD_INPUT in paths else b"",
        stdin_filename=values.get("stdin_filename", ""),
        extend_select=tuple(_split(values["extend_select"])),
        per_file_ignores=tuple(_per_file(values.get("per_file_ignores", ()))),
        respect_gitignore=not values.get("no_respect_gitignore", False),
    )


def configuration_of(values: dict[str, Any]) -> dict[str, Any]:
    """Return the options about configuration files, by their names in Options. Raises UsageError for two files."""
    given = [text for text in values["config"] if "=" not in text or os.path.exists(text)]
    if len(given) > 1:
        raise UsageError(f"--config: one file at most, not {' and '.join(given)}")
    overrides = tuple(text for text in values["config"] if text not in given)
    return {"config": Path(given[0]) if given else None, "overrides": overrides, "isolated": values["isolated"]}


def paths_of(values: dict[str, Any]) -> tuple[str, ...]:
    """Return the files and folders that the command line names; the current folder where it names none."""
    return tuple(values.get("paths", ())) or (os.curdir,)


def target_of(values: dict[str, Any]) -> dict[str, str]:
    """Return the versions, and the Mac's memory and chip, that the command line gave."""
    return {name: values[name] for name in (*PACKAGES, "memory", "chip") if values[name] is not None}


def _per_file(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield pattern and rule of each `GLOB:RULE`, several with commas. Raises UsageError for a word without a colon."""
    for word in _split(words):
        glob, colon, rule = word.rpartition(":")
        if not (colon and glob and rule):
            raise UsageError(f"--per-file-ignores: {word!r} is not GLOB:RULE, such as 'tests/*:MPS5'")
        yield glob, rule


def _split(words: Sequence[str]) -> list[str]:
    """Return rules given one by one or with commas (`MPS1,MPS2`)."""
    return [part.strip() for word in words for part in word.split(",") if part.strip()]
