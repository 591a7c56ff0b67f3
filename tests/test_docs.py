"""What the pages, the help texts and the rules name exists: commands, options and links."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path

import click
import pytest

from mpslint.cli import group

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = re.compile(r"`(mpslint [a-z][^`]*)`|^\$ (mpslint [a-z].*)$", re.MULTILINE)
SHELL = re.compile(r"```sh\n(.*?)```", re.DOTALL)
OPTION = re.compile(r"`(?:mpslint )?(?:([a-z]+) )?(--[a-z][a-z-]+)(?!_)\b[^`]*`")
TEXTS = [*PAGES, *sorted((ROOT / "rules").rglob("*.yaml"))]
HELP = {name: group.get_command(click.Context(group), name) for name in group.list_commands(click.Context(group))}


def options_of(command: click.Command | None) -> set[str]:
    """Return the options of a command."""
    assert command is not None
    return {option for parameter in command.params for option in parameter.opts} | {"--help", "-h"}


def commands_of(text: str) -> list[str]:
    """Return the command lines that a text names, each up to its redirection or to the words of another program."""
    found = [match.group(1) or match.group(2) for match in COMMAND.finditer(text)]
    found += [line for block in SHELL.findall(text) for line in block.splitlines() if line.startswith("mpslint ")]
    return [re.split(r" (?:>>?|--) ", line)[0].removesuffix("...") for line in found]


def assert_taken(line: str) -> None:
    """Assert that a command exists and takes the options that are given to it."""
    _, name, *arguments = shlex.split(line)
    if name == "run":  # what follows the script are its own arguments
        arguments = list(itertools.takewhile(lambda argument: argument != "-m" and not argument.endswith(".py"), arguments))
    given = {argument.split("=")[0] for argument in arguments if argument.startswith("-") and argument != "-"}

    assert name in HELP, line
    assert given <= options_of(HELP[name]), line


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_every_command_that_is_named_is_one(path: Path) -> None:
    """With options that it takes."""
    for line in commands_of(path.read_text(encoding="utf-8")):
        assert_taken(line)


@pytest.mark.parametrize("name", HELP)
def test_every_example_of_a_help_text_is_taken(name: str) -> None:
    """The lines that begin with `mpslint`."""
    command = HELP[name]
    assert command is not None
    for line in (command.help or "").splitlines():
        if line.strip().startswith("mpslint "):
            assert_taken(re.split(r" (?:>>?|--) ", line.strip())[0])


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_options_that_are_named_alone_exist(path: Path) -> None:
    """`--baseline` is an option of some command, `check --add-ignore` one of that command."""
    every = set().union(*(options_of(command) for command in HELP.values())) | {"--version"}
    for name, option in OPTION.findall(path.read_text(encoding="utf-8")):
        if not name or name in HELP:
            assert option in (options_of(HELP[name]) if name else every), (name, option)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    """To files, and to headings of them."""
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        name, _, heading = target.partition("#")
        page = path.parent / name if name else path
        assert page.exists(), target
        if heading:
            assert heading in headings_of(page), target


def headings_of(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    found = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in found}
