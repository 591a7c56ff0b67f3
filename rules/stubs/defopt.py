"""defopt: a function becomes a command line."""

from stubs.commands import start as run
