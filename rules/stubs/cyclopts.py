"""cyclopts: a function becomes a command line; an App calls the functions that it holds by its decorators."""

from stubs._commands import start as run
from stubs.typer import Typer as App
