"""tyro: a function or class becomes a command line."""

from stubs._commands import start as cli
