"""tyro: a function or class becomes a command line."""

from stubs.commands import start as cli
