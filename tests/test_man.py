"""The manual page: every command and option, as roff that renders."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from mpslint.cli import group

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def page() -> str:
    """The page as roff."""
    spec = importlib.util.spec_from_file_location("man", ROOT / "docs" / "man.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text: str = module.manual()
    return text


def test_every_command_and_option_is_on_it(page: str) -> None:
    """With what it means."""
    with click.Context(group) as context:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            section = page.partition(f'.SS "mpslint {name} ')[2].partition(".SS")[0]
            options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
            assert [one.opts[0] for one in options if one.opts[0].replace("-", "\\-") not in section] == []


@pytest.mark.skipif(not shutil.which("groff"), reason="needs groff")
def test_it_renders_without_a_warning(page: str) -> None:
    """As `man` shows it."""
    done = subprocess.run(["groff", "-man", "-ww", "-Tutf8"], input=page.encode(), capture_output=True)

    assert done.stderr.decode() == ""
    assert b"mpslint" in done.stdout
