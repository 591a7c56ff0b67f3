"""The command line: one file a command, loaded only when it is called."""

from __future__ import annotations

import importlib
import io
import os
import pkgutil
import sys

import click

from mpslint import __version__
from mpslint.finding import MpslintError, ReadError

EXIT_CLEAN, EXIT_FINDINGS, EXIT_USAGE, EXIT_UNREADABLE = 0, 1, 2, 3
EXIT_INTERRUPTED = 130
"""What shells report for Ctrl-C."""


class LazyGroup(click.Group):
    """A group whose commands are the modules of this package: `cli/check.py` holds `mpslint check` as `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in alphabetical order."""
        return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__) if module.name[0] != "_")

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of one command and return it, or None when there is no such command."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"{__name__}.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; Ctrl-C ends it with one line, never to be taken for findings."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("mpslint: interrupted", err=True)
            sys.exit(EXIT_INTERRUPTED)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, "-V", "--version", prog_name="mpslint", message="%(prog)s %(version)s")
def group() -> None:
    """Say what a PyTorch training run will do on an Apple-silicon Mac, before it runs.

    \b
    Exit codes: 0 clean, 1 findings (or a failed verdict), 2 usage or configuration, 3 something could not be read.
    """


def main() -> None:
    """Run the command line and leave with the documented exit code; an expected error is one line, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # where a letter cannot be shown, its number is
    try:
        group()
    except MpslintError as error:
        click.echo(f"mpslint: {error}", err=True)
        sys.exit(EXIT_UNREADABLE if isinstance(error, ReadError) else EXIT_USAGE)
    except OSError as error:
        if error.filename is not None:
            click.echo(f"mpslint: {error.filename}: {error.strerror}", err=True)
            sys.exit(EXIT_UNREADABLE)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left to write cannot be written either
        is_lost = isinstance(error, FileNotFoundError)
        click.echo(
            f"mpslint: {'the current folder is gone' if is_lost else f'standard output cannot be written: {error.strerror}'}", err=True
        )
        sys.exit(EXIT_UNREADABLE)
