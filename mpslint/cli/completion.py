"""`mpslint completion`: what a shell needs to complete commands, options and rules."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from mpslint.core.finding import UsageError

VARIABLE = "_MPSLINT_COMPLETE"
"""What click looks for: the shell's script sets it to ask for completions."""


@click.command(short_help="Print the completion script for a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the script by which a shell completes commands, options, paths and rules (`--select MPS1<Tab>`).

    \b
    Examples:
      mpslint completion bash > ~/.local/share/bash-completion/completions/mpslint
      mpslint completion zsh > ~/.zfunc/_mpslint
      mpslint completion fish > ~/.config/fish/completions/mpslint.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise UsageError(f"the installed version of click doesn't support {shell}")
    from mpslint.cli import group

    click.echo(kind(group, {}, "mpslint", VARIABLE).source())
