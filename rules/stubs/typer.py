"""typer: a function becomes a command line; what a Typer holds is called by its decorators."""

from stubs._commands import start as run
