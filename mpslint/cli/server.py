"""`mpslint server`: check in editors."""

from __future__ import annotations

import sys
from typing import Any

import click

from mpslint import __version__
from mpslint.cli._options import options_of, rule_options
from mpslint.cli._say import complain
from mpslint.core.finding import ReadError, UsageError

EXTRA = frozenset({"pygls", "lsprotocol"})
"""What `mpslint[lsp]` installs."""
LEFT = 1
"""The exit code where the editor left without a shutdown, as the protocol has it."""


@click.command(short_help="Check in editors: a language server.")
@rule_options
@click.option("--stdio", is_flag=True, help="Talk over standard input and output, which it does anyway.")
@click.option("--check", "only_check", is_flag=True, help="Say the version and end, without a server: whether it could be started.")
def command(stdio: bool, only_check: bool, **values: Any) -> None:
    """Check what is open in an editor, over the Language Server Protocol (LSP): findings while typing, fixes, and reasons.

    The editor starts it and talks to it over standard input and output. Options hold for every file; what they leave open, the
    configuration nearest to each file says. Needs mpslint[lsp].

    \b
    Examples, as an editor is told to start it:
      mpslint server
      mpslint server --severity warning
      mpslint server --memory 16GB --torch 2.9

    \b
    Exit codes: 0 the editor shut the server down, 1 it closed the connection without a shutdown, 2 usage, 3 it announced a
    message beyond all sizes.
    """
    options = options_of(values)
    try:
        from mpslint.server.language_server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in EXTRA:
            raise
        raise UsageError("server needs pygls: install it with pip install 'mpslint[lsp]'") from None
    if only_check:
        click.echo(f"mpslint {__version__}")
        return
    if sys.stdin is None:
        raise ReadError("-: standard input is closed")
    if sys.stdin.isatty():
        complain("mpslint: an editor starts this and talks to it on standard input; Ctrl-C ends it")
    if not serve(options, complain):
        sys.exit(LEFT)
