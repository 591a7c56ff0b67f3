"""The command line: one file a command, loaded only when it is called."""

from __future__ import annotations

import importlib
import os
import pkgutil
import signal
import sys

import click

from mpslint import __version__
from mpslint.cli._say import (
    EXIT_UNREADABLE,
    EXIT_USAGE,
    complain,
    complain_of_passed_over,
    end_if_lost,
    guard_streams,
    keep_errors,
    open_streams,
)
from mpslint.core.finding import MpslintError, ReadError
from mpslint.core.inert import inert_lines

EXIT_INTERRUPTED = 130
"""What shells report for Ctrl-C."""
OTHER_NAMES = {"lint": "check", "rule": "explain", "format": "fix", "generate-shell-completion": "completion", "help": "--help"}
"""What other linters call a command."""


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

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first word names. Raises UsageError with what was probably meant."""
        word = args[0]
        if self.get_command(ctx, word) is None and not (word.startswith("-") and len(word) > 1):
            ctx.fail(f"No such command {word!r}.{self._meant(ctx, word)}")
        return super().resolve_command(ctx, args)

    def _meant(self, ctx: click.Context, word: str) -> str:
        """Return the hint that follows `No such command`."""
        import difflib
        import shlex

        if os.path.exists(word) or os.sep in word or os.path.splitext(word)[1] or word == "-":
            return f" To check a file or folder: mpslint check {shlex.quote(word)}"
        near = OTHER_NAMES.get(word) or next(iter(difflib.get_close_matches(word, self.list_commands(ctx), 1, 0.6)), "")
        return f" Did you mean {near!r}?" if near else f" Commands: {', '.join(self.list_commands(ctx))}."

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; Ctrl-C ends it with one line, never to be taken for findings."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            complain("mpslint: interrupted")
            sys.exit(EXIT_INTERRUPTED)
        except click.ClickException as error:
            vars(error)["message"] = inert_lines(error.message)  # it may name a file of somebody else's
            raise


def _show_version(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    """Print the version, with --verbose anywhere on the command line also how far the knowledge reaches, and leave."""
    if not is_asked or ctx.resilient_parsing:
        return
    click.echo(f"mpslint {__version__}")
    if "--verbose" in sys.argv[1:]:
        from mpslint.session.reach import reach

        for name, value in reach():
            click.echo(f"{name:<30}{value}")
    ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("-V", "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version and exit.")
@click.option("--verbose", is_flag=True, is_eager=True, expose_value=False, help="With --version: also show what the knowledge covers.")
def group() -> None:
    """Say what a PyTorch training run will do on an Apple-silicon Mac, before it runs.

    Exit codes: 0 clean, 1 findings (or a failed verdict), 2 usage or configuration, 3 something could not be read or written.
    """


class Terminated(SystemExit):
    """The system asks the program to end: what was begun is cleaned up on the way out."""


def _terminate(number: int, frame: object) -> None:
    signal.signal(number, signal.SIG_IGN)  # one is enough: the second must not interrupt the cleaning up
    raise Terminated(128 + number)


def end_on_signals() -> None:
    """End as after an error on SIGTERM (CI, timeout) and SIGHUP (a closed terminal): temporary folders and processes go first."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores SIGHUP, and so do we
            signal.signal(number, _terminate)


def with_names_apart(words: list[str]) -> list[str]:
    """Return the words of the command line; under pre-commit those that are files are marked as such (`./-o`).

    pre-commit puts the names of files last, behind the user's own `args`, where no `--` can part them: a repository's file
    `--output=x` or `-o/home/me/.bashrc` would be an option. A word that may be both is the file: then nothing is written.
    """
    if not os.environ.get("PRE_COMMIT"):
        return words
    return [f"./{word}" if word.startswith("-") and os.path.lexists(word) else word for word in words]


def main() -> None:
    """Run the command line and leave with the documented exit code; an expected error is one line, never a traceback."""
    try:
        try:
            open_streams()
            sys.stdout, sys.stderr = keep_errors(sys.stdout), keep_errors(sys.stderr)
            guard_streams()
            end_on_signals()
            group(with_names_apart(sys.argv[1:]))
        finally:
            end_if_lost()
    except MpslintError as error:
        complain(f"mpslint: {error}")
        sys.exit(EXIT_UNREADABLE if isinstance(error, ReadError) else EXIT_USAGE)
    except OSError as error:
        is_lost = error.filename is None and isinstance(error, FileNotFoundError)
        where = f"{error.filename}: " if error.filename is not None else ""
        complain(f"mpslint: {'the current folder no longer exists' if is_lost else f'{where}{error.strerror}'}")
        sys.exit(EXIT_UNREADABLE)
    finally:
        complain_of_passed_over()
