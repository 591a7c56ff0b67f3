"""cyclopts: a function becomes a command line."""

from stubs._commands import start as run
